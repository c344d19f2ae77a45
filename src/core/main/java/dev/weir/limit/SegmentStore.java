package dev.weir.limit;

/** Where a log keeps the full segments that its state does not carry; numbers ascend from 0. */
public interface SegmentStore {

    /** The segment that was put under {@code number} and not deleted since. */
    LogSegment get(long number);

    void put(long number, LogSegment segment);

    void delete(long number);
}
