package dev.weir.storage;

import dev.weir.storage.codec.StateCodec;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** Scans a store periodically, a bounded number of keys at a time, and deletes states that have expired. */
// The time for expiry is the earliest timestamp of the requests since the last run. So one producer whose clock is
// ahead cannot expire other clients' states, and neither can a backlog that is processed late. A state is kept for
// keepMs after it has become equivalent to an initial one, so that requests which are late by up to that time still
// find the time of their client's last charge. The scan reads the store: a state that is newer in the cache is in use
// and is kept. After each complete scan there is a pause, because deleted entries make a scan as slow as existing ones
// until the store is compacted.
public final class StateCleaner {

    /** Scans start at least {@code keepMs} divided by this number apart. */
    private static final int WALKS_WHILE_KEPT = 4;

    private final ReadOnlyKeyValueStore<Bytes, byte[]> states;
    private final BiConsumer<Bytes, byte[]> delete;
    private final int maxKeys;
    private final long keepMs;
    private Bytes cursor;
    private long nextWalkMs = Long.MIN_VALUE;
    private long earliestMs = DueTime.NEVER;
    private long horizonMs = Long.MIN_VALUE;

    /**
     * @param delete deletes a state by its key and encoded value, or a part of it, unless the cache has a newer one
     * @param keysAtOnce the maximum number of keys per run
     * @param keepMs how long expired states are kept
     */
    public StateCleaner(
            ReadOnlyKeyValueStore<Bytes, byte[]> states,
            BiConsumer<Bytes, byte[]> delete,
            int keysAtOnce,
            long keepMs) {
        this.states = states;
        this.delete = delete;
        this.maxKeys = keysAtOnce;
        this.keepMs = keepMs;
    }

    /** Records the timestamp of a request. */
    public void observe(long timestampMs) {
        earliestMs = Math.min(earliestMs, timestampMs);
    }

    /**
     * Returns the earliest time at which {@link #run} has work, on the clock of its argument; {@link DueTime#NEVER} if no
     * request was observed since the start of the last scan, and that is complete.
     */
    public long dueMs() {
        if (cursor != null) {
            return Long.MIN_VALUE;
        }
        return earliestMs == DueTime.NEVER ? DueTime.NEVER : nextWalkMs;
    }

    /**
     * Scans the next keys and deletes the states that expired long enough ago.
     *
     * @param nowMs the time of any clock; it determines the pauses between scans only
     */
    public void run(long nowMs) {
        if (cursor == null) {
            if (nowMs < nextWalkMs) {
                return;
            }
            nextWalkMs = nowMs + keepMs / WALKS_WHILE_KEPT;
        }
        if (earliestMs != DueTime.NEVER) {
            horizonMs = earliestMs - keepMs;
            earliestMs = DueTime.NEVER;
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
                if (StateCodec.expiresAtMs(entry.value) <= horizonMs) {
                    idle.add(entry);
                }
            }
        }
        idle.forEach(entry -> delete.accept(entry.key, entry.value));
    }
}
