package dev.weir.storage;

import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentStore;
import dev.weir.storage.codec.StateCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** The segments of one log in a store. Caches the segment read last, which a request reads several times. */
public final class StoredSegments implements SegmentStore {

    private final KeyValueStore<Bytes, byte[]> store;
    private final byte[] stateKey;
    private final int logId;
    private final Runnable changed;
    private long lastNumber;
    private LogSegment last;

    /** @param changed called before each change */
    public StoredSegments(KeyValueStore<Bytes, byte[]> store, byte[] stateKey, int logId, Runnable changed) {
        this.store = store;
        this.stateKey = stateKey;
        this.logId = logId;
        this.changed = changed;
    }

    @Override
    public LogSegment get(long number) {
        if (last == null || lastNumber != number) {
            byte[] segment = store.get(key(number));
            if (segment == null) {
                throw new IllegalStateException("segment " + number + " of log " + logId + " is missing in the store");
            }
            last = StateCodec.decodeSegment(segment);
            lastNumber = number;
        }
        return last;
    }

    @Override
    public void put(long number, LogSegment segment) {
        last = null;
        changed.run();
        store.put(key(number), StateCodec.encode(segment));
    }

    @Override
    public void delete(long number) {
        last = null;
        changed.run();
        store.put(key(number), null);
    }

    private Bytes key(long number) {
        return Bytes.wrap(KeyCodec.segment(stateKey, logId, number));
    }
}
