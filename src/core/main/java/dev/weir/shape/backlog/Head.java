package dev.weir.shape.backlog;

import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.rules.Flow;
import dev.weir.time.DueTime;

/** The request that leaves next: the first of a flow that waits, or a released one whose next attempt is due. */
public sealed interface Head permits FlowQueue, Attempts.Retry {

    Flow flow();

    Place head();

    long headCost();

    /** Returns when it was queued, in milliseconds since the epoch. */
    long headEnqueuedAtMs();

    /** Returns the last time at which it can leave, in milliseconds since the epoch; {@link DueTime#NEVER} for never. */
    long headExpiresAtMs();
}
