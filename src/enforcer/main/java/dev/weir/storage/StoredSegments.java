package dev.weir.storage;

import dev.weir.limit.SegmentedState;
import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
import dev.weir.storage.codec.StateCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** The segments of one state in a store. Caches the segment read last, which a request reads several times. */
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

    /** Stores the changed segments. Returns the state as it is stored; earlier values of it are then invalid. */
    public static SegmentedState store(KeyValueStore<Bytes, byte[]> store, byte[] stateKey, SegmentedState state) {
        for (SegmentWrite write : state.writes()) {
            if (write instanceof SegmentWrite.Put put) {
                store.put(key(stateKey, state.id(), put.number()), StateCodec.encode(put.segment()));
            } else if (write instanceof SegmentWrite.Delete delete) {
                store.put(key(stateKey, state.id(), delete.number()), null);
            }
        }
        return state.stored(new StoredSegments(store, stateKey, state.id()));
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
