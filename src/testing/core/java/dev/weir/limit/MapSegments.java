package dev.weir.limit;

import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
import java.util.TreeMap;

/** Segments in memory that count calls. */
public final class MapSegments implements SegmentReader {

    private final TreeMap<Long, LogSegment> byNumber = new TreeMap<>();
    private int gets;
    private int puts;
    private int deletes;

    public MapSegments() {}

    MapSegments(MapSegments other) {
        byNumber.putAll(other.byNumber);
    }

    /** Stores the changed segments. Returns the state as it is stored. */
    public SegmentedState store(SegmentedState state) {
        for (SegmentWrite write : state.writes()) {
            if (write instanceof SegmentWrite.Put put) {
                put(put.number(), put.segment());
            } else if (write instanceof SegmentWrite.Delete delete) {
                delete(delete.number());
            }
        }
        return state.stored(this);
    }

    @Override
    public LogSegment get(long number) {
        gets++;
        LogSegment segment = byNumber.get(number);
        if (segment == null) {
            throw new AssertionError("no segment " + number + " among " + byNumber.keySet());
        }
        return segment;
    }

    @Override
    public LogSegment node(long number) {
        gets++;
        return byNumber.getOrDefault(number, LogSegment.empty(0));
    }

    private void put(long number, LogSegment segment) {
        puts++;
        if (number >= 0 && segment.size() == 0) {
            throw new AssertionError("put " + number + ": " + segment);
        }
        byNumber.put(number, segment);
    }

    private void delete(long number) {
        deletes++;
        byNumber.remove(number);
    }

    /** Returns the number of segments. */
    public int size() {
        return byNumber.size();
    }

    public int gets() {
        return gets;
    }

    public int puts() {
        return puts;
    }

    public int deletes() {
        return deletes;
    }

    public int calls() {
        return gets + puts + deletes;
    }

    @Override
    public String toString() {
        return "segments";
    }
}
