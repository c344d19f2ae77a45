package dev.weir.storage.snapshot;

import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.storage.codec.StateCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** The full segments of one log, for a dry run while the running task changes them. */
final class SnapshotSegments implements SegmentReader {

    private final ReadOnlyKeyValueStore<Bytes, byte[]> segments;
    private final byte[] stateKey;
    private final int logId;

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
        byte[] segment = segments.get(Bytes.wrap(KeyCodec.segment(stateKey, logId, number)));
        if (segment == null) {
            throw new GoneException(number);
        }
        return StateCodec.decodeSegment(segment);
    }

    @Override
    public LogSegment node(long number) {
        byte[] node = segments.get(Bytes.wrap(KeyCodec.segment(stateKey, logId, number)));
        return node == null ? LogSegment.empty(0) : StateCodec.decodeSegment(node);
    }
}
