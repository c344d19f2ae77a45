package dev.weir.limit;

import java.util.ArrayList;
import java.util.List;

/**
 * The full segments of a log, numbered from {@code first} to {@code end − 1}: those in the store, less the deleted ones,
 * and those added since. An immutable value. {@link #writes} returns what makes the store equal to it.
 *
 * <pre>
 *   storedFirst      first           end − added        storedEnd       end
 *        │   delete    │   as stored      │           put                │
 * </pre>
 *
 * @param store reads the stored segments
 * @param storedFirst the number of the first stored segment
 * @param storedEnd the number after the last stored segment
 * @param first the number of the first segment
 * @param end the number after the last segment
 * @param added the last segments, which are not stored; null if there are none
 */
public record FullSegments(SegmentReader store, long storedFirst, long storedEnd, long first, long end, Added added) {

    private static final SegmentReader NO_STORE = number -> {
        throw new IllegalStateException("segment " + number + " was never stored");
    };

    /** No segments, and none in the store. */
    static final FullSegments NONE = stored(NO_STORE, 0, 0);

    /**
     * A list of segments, newest first.
     *
     * @param before the older ones, null if there are none
     * @param size how many they are
     */
    record Added(LogSegment segment, Added before, int size) {}

    /** Returns the segments of a log as they are stored. */
    public static FullSegments stored(SegmentReader store, long first, long end) {
        return new FullSegments(first == end ? NO_STORE : store, first, end, first, end, null);
    }

    LogSegment get(long number) {
        if (number < firstAdded()) {
            return store.get(number);
        }
        Added at = added;
        for (long i = end - 1; i > number; i--) {
            at = at.before;
        }
        return at.segment;
    }

    /** Returns these segments and one more. */
    FullSegments with(LogSegment segment) {
        Added next = new Added(segment, added, added == null ? 1 : added.size + 1);
        return new FullSegments(store, storedFirst, storedEnd, first, end + 1, next);
    }

    /** Returns all of these segments but the last. */
    FullSegments withoutLast() {
        return new FullSegments(store, storedFirst, storedEnd, first, end - 1, added == null ? null : added.before);
    }

    /** Returns these segments without those before {@code from}, which is not after the end. */
    FullSegments from(long from) {
        return from == first ? this : new FullSegments(store, storedFirst, storedEnd, from, end, added);
    }

    /** Returns whether these are the segments as they were stored. If so, there is nothing to write. */
    boolean isStored() {
        return added == null && first == storedFirst && end == storedEnd;
    }

    /** Returns the changes to the store, deletions first. */
    List<SegmentWrite> writes() {
        List<SegmentWrite> writes = new ArrayList<>();
        for (long number = storedFirst; number < Math.min(first, storedEnd); number++) {
            writes.add(new SegmentWrite.Delete(number));
        }
        for (long number = end; number < storedEnd; number++) {
            writes.add(new SegmentWrite.Delete(number));
        }
        for (long number = Math.max(first, firstAdded()); number < end; number++) {
            writes.add(new SegmentWrite.Put(number, get(number)));
        }
        return writes;
    }

    private long firstAdded() {
        return added == null ? end : end - added.size;
    }
}
