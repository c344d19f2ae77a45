package dev.weir.limit;

/** Reads the stored full segments of a log, by number. They must not change while the log is in use. */
@FunctionalInterface
public interface SegmentReader {

    /** Returns the segment stored under {@code number}, which must exist. */
    LogSegment get(long number);
}
