package dev.weir.shape.store;

import dev.weir.decision.state.KeyValueTable;

/** The requests of a bucket that wait for their time, in the order of their keys. */
public interface ScheduleTable extends KeyValueTable<ScheduleKey, QueueEntry.Waiting> {

    /** Returns the first key that is not less than this one; null if there is none. */
    ScheduleKey firstFrom(ScheduleKey from);
}
