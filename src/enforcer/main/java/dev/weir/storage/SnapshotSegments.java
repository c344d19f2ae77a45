package dev.weir.storage;

import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentStore;
import dev.weir.storage.codec.StateCodec;
import dev.weir.wire.KeyCodec;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** The segments of one log, overlaid with the segments that a dry run has written. */
final class SnapshotSegments implements SegmentStore {

    private final ReadOnlyKeyValueStore<Bytes, byte[]> segments;
    private final byte[] stateKey;
    private final int logId;
    private final Map<Long, LogSegment> written = new HashMap<>();

    /** Thrown if the running task has deleted a segment that the dry run needs. */
    static final class GoneException extends RuntimeException {
        private static final long serialVersionUID = 1;

        GoneException(long number) {
            super("segment " + number + " was deleted by the task", null, false, false);
        }
    }

    SnapshotSegments(ReadOnlyKeyValueStore<Bytes, byte[]> segments, byte[] stateKey, int logId) {
        this.segments = segments;
        this.stateKey = stateKey;
        this.logId = logId;
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

    /** Does nothing: a deleted segment is not read again. */
    @Override
    public void delete(long number) {}
}
