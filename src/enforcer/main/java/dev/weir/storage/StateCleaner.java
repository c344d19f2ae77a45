package dev.weir.storage;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** Walks over the states, some at a time, round and round, and forgets those that say nothing any more. */
// "Now" for the sweep is the earliest time among the requests since the last one: a single clock that runs ahead
// cannot expire the others' states, and neither can a backlog that is worked off late. A state is kept for a while
// beyond the time at which it says what a fresh one says, so that requests that come late, within that while, still
// find the time of their client's last charge. What it walks over is the store: a state on the heap that is newer than
// there is in use, and left alone. After a walk to the end it rests for a part of that while: where much was deleted, a
// walk costs as much as if it were still there, until the store is compacted, and finds nothing.
public final class StateCleaner {

    /** A walk begins this part of what is kept after the one before, or later. */
    private static final int WALKS_WHILE_KEPT = 4;

    private final ReadOnlyKeyValueStore<Bytes, byte[]> states;
    private final BiConsumer<Bytes, byte[]> delete;
    private final int maxKeys;
    private final long keepMs;
    private Bytes cursor;
    private long nextWalkMs = Long.MIN_VALUE;
    private long earliestMs = Long.MAX_VALUE;
    private long horizonMs = Long.MIN_VALUE;

    /** @param forget forgets a state under its key, or a part of it, unless it is not the newest */
    public StateCleaner(
            ReadOnlyKeyValueStore<Bytes, byte[]> states,
            BiConsumer<Bytes, byte[]> forget,
            int keysAtOnce,
            long keepMs) {
        this.states = states;
        this.delete = forget;
        this.maxKeys = keysAtOnce;
        this.keepMs = keepMs;
    }

    /** Takes note of a request's time. */
    public void observe(long timestampMs) {
        earliestMs = Math.min(earliestMs, timestampMs);
    }

    /**
     * Looks at the next states, and forgets those that have been forgettable for long enough.
     *
     * @param nowMs by any clock: the pauses between walks go by it
     */
    public void run(long nowMs) {
        if (cursor == null) {
            if (nowMs < nextWalkMs) {
                return;
            }
            nextWalkMs = nowMs + keepMs / WALKS_WHILE_KEPT;
        }
        if (earliestMs != Long.MAX_VALUE) {
            horizonMs = earliestMs - keepMs;
            earliestMs = Long.MAX_VALUE;
        }
        List<KeyValue<Bytes, byte[]>> idle = new ArrayList<>();
        int seen = 0;
        try (KeyValueIterator<Bytes, byte[]> iterator = states.range(cursor, null)) {
            cursor = null;
            while (iterator.hasNext()) {
                KeyValue<Bytes, byte[]> entry = iterator.next();
                if (seen++ == maxKeys) {
                    cursor = entry.key;
                    break;
                }
                if (StateCodec.forgettableAtMs(entry.value) <= horizonMs) {
                    idle.add(entry);
                }
            }
        }
        idle.forEach(entry -> delete.accept(entry.key, entry.value));
    }
}
