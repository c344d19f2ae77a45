package dev.weir.limit.segment;

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
 * @param corrections the corrections of entries; they replace segments that are stored or added
 */
public record FullSegments(
        SegmentReader store,
        long storedFirst,
        long storedEnd,
        long first,
        long end,
        Added added,
        SumCorrections corrections) {

    /** Reads from a store without segments. */
    static final SegmentReader NO_STORE = new SegmentReader() {
        @Override
        public LogSegment get(long number) {
            throw new IllegalStateException("segment " + number + " was never stored");
        }

        @Override
        public LogSegment node(long number) {
            return LogSegment.empty(0);
        }
    };

    /** No segments, and none in the store. */
    public static final FullSegments NONE = stored(NO_STORE, 0, 0);

    /**
     * A list of segments, newest first.
     *
     * @param before the older ones, null if there are none
     * @param size how many they are
     */
    record Added(LogSegment segment, Added before, int size) {}

    /** Returns the segments of a log as they are stored, none of which was corrected. */
    public static FullSegments stored(SegmentReader store, long first, long end) {
        return stored(store, first, end, 0);
    }

    /** Returns the segments of a log as they are stored; see {@link #correctedEnd}. */
    public static FullSegments stored(SegmentReader store, long first, long end, long correctedEnd) {
        SumCorrections corrections = SumCorrections.stored(correctedEnd);
        return new FullSegments(first == end ? NO_STORE : store, first, end, first, end, null, corrections);
    }

    /** Returns the number after the last segment with a corrected entry; 0 if there is none. */
    public long correctedEnd() {
        return corrections.end() <= first || first == end ? 0 : corrections.end();
    }

    public LogSegment get(long number) {
        LogSegment other = corrections.replaced().get(number);
        if (other != null) {
            return other;
        }
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
    public FullSegments with(LogSegment segment) {
        Added next = new Added(segment, added, added == null ? 1 : added.size + 1);
        return new FullSegments(store, storedFirst, storedEnd, first, end + 1, next, corrections);
    }

    /**
     * Returns these segments after the correction of an entry.
     *
     * @param number the number of its segment
     * @param segment the corrected segment
     * @param change what is added to the {@link #correction} of all later segments
     */
    public FullSegments corrected(long number, LogSegment segment, long change) {
        return with(corrections.with(store, number, segment, change));
    }

    /**
     * Returns the sum of the corrections of the segments from a number on. It is the same for all sums of that segment:
     * with it, they can be compared with those of the newest entries.
     */
    public long correction(long number) {
        return corrections.end() <= number ? 0 : corrections.sum(store, number, end);
    }

    private FullSegments with(SumCorrections other) {
        return new FullSegments(store, storedFirst, storedEnd, first, end, added, other);
    }

    /** Returns all of these segments but the last. */
    public FullSegments withoutLast() {
        Added before = added == null ? null : added.before;
        SumCorrections left = corrections.end() < end ? corrections : corrections.without(store, end - 1);
        return new FullSegments(store, storedFirst, storedEnd, first, end - 1, before, left);
    }

    /** Returns these segments without those before {@code from}, which is not after the end. */
    public FullSegments from(long from) {
        return from == first ? this : new FullSegments(store, storedFirst, storedEnd, from, end, added, corrections);
    }

    /** Returns whether these are the segments as they were stored. If so, there is nothing to write. */
    public boolean isStored() {
        return added == null && corrections.replaced().isEmpty() && first == storedFirst && end == storedEnd;
    }

    /** Returns the changes to the store, deletions first. */
    public List<SegmentWrite> writes() {
        List<SegmentWrite> writes = new ArrayList<>();
        for (long number = storedFirst; number < Math.min(first, storedEnd); number++) {
            writes.add(new SegmentWrite.Delete(number));
        }
        for (long number = end; number < storedEnd; number++) {
            writes.add(new SegmentWrite.Delete(number));
        }
        if (corrections.end() > 0) {
            addCorrections(writes);
        }
        for (long number = Math.max(first, firstAdded()); number < end; number++) {
            writes.add(new SegmentWrite.Put(number, get(number)));
        }
        return writes;
    }

    private void addCorrections(List<SegmentWrite> writes) {
        long lastNumber = Math.max(storedFirst, first == end ? Math.max(end, corrections.end()) - 1 : first - 1);
        for (int level = 0; level < SumCorrections.LEVELS; level++) {
            long last = SumCorrections.indexOfNode(level, lastNumber);
            for (long i = SumCorrections.indexOfNode(level, storedFirst); i <= last; i++) {
                long number = SumCorrections.nodeNumber(level, i);
                if (isGarbage(number)) {
                    writes.add(new SegmentWrite.Delete(number));
                }
            }
        }
        corrections.replaced().forEach((number, segment) -> {
            boolean isWritten = number < 0 ? !isGarbage(number) : number >= first && number < firstAdded();
            if (isWritten) {
                writes.add(new SegmentWrite.Put(number, segment));
            }
        });
    }

    private boolean isGarbage(long nodeNumber) {
        return Math.min(SumCorrections.endOfNode(nodeNumber), Math.min(corrections.end(), end)) <= first;
    }

    private long firstAdded() {
        return added == null ? end : end - added.size;
    }
}
