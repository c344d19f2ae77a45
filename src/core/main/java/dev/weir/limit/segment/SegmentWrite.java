package dev.weir.limit.segment;

/** A change to the stored full segments of a log. */
public sealed interface SegmentWrite {

    /** Stores a segment, instead of the one that may be stored under its number. */
    record Put(long number, LogSegment segment) implements SegmentWrite {}

    /** Deletes the segment stored under a number. */
    record Delete(long number) implements SegmentWrite {}
}
