package dev.weir.limit.segment;

/** Reads what is stored of a log, by number. It must not change while the log is in use. */
public interface SegmentReader {

    /** Returns the full segment stored under {@code number}, which must exist. */
    LogSegment get(long number);

    /**
     * Returns a node of the tree of corrections.
     *
     * @param number a number below 0
     * @return the segment stored under {@code number}, or one without entries if there is none
     */
    LogSegment node(long number);
}
