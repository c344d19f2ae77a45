package dev.weir.limit;

/** A store for the full segments of a log, by number. Numbers ascend from 0. */
public interface SegmentStore {

    /** Returns the segment stored under {@code number}, which must exist. */
    LogSegment get(long number);

    void put(long number, LogSegment segment);

    void delete(long number);
}
