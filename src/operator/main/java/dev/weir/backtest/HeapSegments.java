package dev.weir.backtest;

import dev.weir.limit.SegmentedState;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.Slots;
import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
import java.util.HashMap;
import java.util.Map;

/** The stored segments of one state on the heap, without persistence. */
public final class HeapSegments implements SegmentReader {

    private final Map<Long, LogSegment> segments = new HashMap<>();

    private HeapSegments() {}

    /** Stores the changed segments. Returns the state as it is stored; earlier values of it are then invalid. */
    public static SegmentedState store(SegmentedState state) {
        HeapSegments store = reader(state) instanceof HeapSegments own ? own : new HeapSegments();
        for (SegmentWrite write : state.writes()) {
            if (write instanceof SegmentWrite.Put put) {
                store.segments.put(put.number(), put.segment());
            } else if (write instanceof SegmentWrite.Delete delete) {
                store.segments.remove(delete.number());
            }
        }
        return state.stored(store);
    }

    private static SegmentReader reader(SegmentedState state) {
        return state instanceof SlidingWindowLog.Log log
                ? log.segments().store()
                : ((Slots) state).nodes().store();
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
