package dev.weir.storage;

import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentStore;
import dev.weir.wire.KeyCodec;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** The segments of one log, with those over them that a trial has written. */
final class SnapshotSegments implements SegmentStore {

    private final ReadOnlyKeyValueStore<Bytes, byte[]> segments;
    private final byte[] stateKey;
    private final int logId;
    private final Map<Long, LogSegment> written = new HashMap<>();

    /** The task that goes on working has deleted what the trial reads. */
    static final class GoneException extends RuntimeException {
        private static final long serialVersionUID = 1;

        GoneException(long number) {
            super("segment " + number + " was deleted meanwhile", null, false, false);
        }
    }

    SnapshotSegments(ReadOnlyKeyValueStore<Bytes, byte[]> segments, byte[] stateKey, int shelf) {
        this.segments = segments;
        this.stateKey = stateKey;
        this.logId = shelf;
    }

    @Override
    public LogSegment get(long number) {
        LogSegment own = written.get(number);
        if (own != null) {
            return own;
        }
        byte[] segment = segments.get(Bytes.wrap(KeyCodec.segment(stateKey, logId, number)));
        if (segment == null) {
            throw new GoneException(number);
        }
        return StateCodec.decodeSegment(segment);
    }

    @Override
    public void put(long number, LogSegment segment) {
        written.put(number, segment);
    }

    /** Nothing reads a segment again that it has deleted. */
    @Override
    public void delete(long number) {}
}
