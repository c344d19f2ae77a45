package dev.weir.storage;

import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentReader;
import dev.weir.limit.SegmentWrite;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.storage.codec.StateCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** The full segments of one log in a store. Caches the segment read last, which a request reads several times. */
public final class StoredSegments implements SegmentReader {

    private final KeyValueStore<Bytes, byte[]> store;
    private final byte[] stateKey;
    private final int logId;
    private long lastNumber;
    private LogSegment last;

    public StoredSegments(KeyValueStore<Bytes, byte[]> store, byte[] stateKey, int logId) {
        this.store = store;
        this.stateKey = stateKey;
        this.logId = logId;
    }

    /** Stores the changed segments of a log. Returns the log as it is stored; earlier values of it are then invalid. */
    public static Log store(KeyValueStore<Bytes, byte[]> store, byte[] stateKey, Log log) {
        for (SegmentWrite write : log.writes()) {
            if (write instanceof SegmentWrite.Put put) {
                store.put(key(stateKey, log.id(), put.number()), StateCodec.encode(put.segment()));
            } else if (write instanceof SegmentWrite.Delete delete) {
                store.put(key(stateKey, log.id(), delete.number()), null);
            }
        }
        return log.stored(new StoredSegments(store, stateKey, log.id()));
    }

    @Override
    public LogSegment get(long number) {
        if (last == null || lastNumber != number) {
            byte[] segment = store.get(key(stateKey, logId, number));
            if (segment == null) {
                throw new IllegalStateException("segment " + number + " of log " + logId + " is missing in the store");
            }
            last = StateCodec.decodeSegment(segment);
            lastNumber = number;
        }
        return last;
    }

    @Override
    public LogSegment node(long number) {
        byte[] node = store.get(key(stateKey, logId, number));
        return node == null ? LogSegment.empty(0) : StateCodec.decodeSegment(node);
    }

    private static Bytes key(byte[] stateKey, int logId, long number) {
        return Bytes.wrap(KeyCodec.segment(stateKey, logId, number));
    }
}
