package dev.weir.limit;

import dev.weir.limit.SlidingWindowLog.Log;
import java.util.HashMap;
import java.util.Map;

/** The stored full segments of one log on the heap, without persistence. */
public final class HeapSegments implements SegmentReader {

    private final Map<Long, LogSegment> segments = new HashMap<>();

    private HeapSegments() {}

    /** Stores the changed segments of a log. Returns the log as it is stored; earlier values of it are then invalid. */
    public static Log store(Log log) {
        HeapSegments store = log.segments().store() instanceof HeapSegments own ? own : new HeapSegments();
        for (SegmentWrite write : log.writes()) {
            if (write instanceof SegmentWrite.Put put) {
                store.segments.put(put.number(), put.segment());
            } else if (write instanceof SegmentWrite.Delete delete) {
                store.segments.remove(delete.number());
            }
        }
        return log.stored(store);
    }

    @Override
    public LogSegment get(long number) {
        return segments.get(number);
    }

    @Override
    public LogSegment node(long number) {
        return segments.getOrDefault(number, LogSegment.empty(0));
    }
}
