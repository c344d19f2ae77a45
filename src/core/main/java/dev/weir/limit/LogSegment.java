package dev.weir.limit;

import java.util.Arrays;

/**
 * A run of a log's entries, oldest first. Beside its time an entry has the sum of all costs up to and with it, so the
 * cost between any two entries is one subtraction. Sums wrap around; only differences have a meaning.
 */
public final class LogSegment {

    /** How many entries a segment holds. */
    public static final int CAPACITY = 32;

    private final long sumBefore;
    private final long[] timesMs;
    private final long[] sums;

    private LogSegment(long sumBefore, long[] timesMs, long[] sums) {
        this.sumBefore = sumBefore;
        this.timesMs = timesMs;
        this.sums = sums;
    }

    /** A segment without entries, {@code sumBefore} being the sum of all that came before it. */
    public static LogSegment empty(long sumBefore) {
        return new LogSegment(sumBefore, new long[0], new long[0]);
    }

    /** A segment of entries; the arrays are the segment's from here on. */
    public static LogSegment of(long sumBefore, long[] timesMs, long[] sums) {
        if (timesMs.length != sums.length || timesMs.length > CAPACITY) {
            throw new IllegalArgumentException(timesMs.length + " times and " + sums.length + " sums");
        }
        return new LogSegment(sumBefore, timesMs, sums);
    }

    public int size() {
        return timesMs.length;
    }

    public boolean isFull() {
        return timesMs.length == CAPACITY;
    }

    public long timeMs(int index) {
        return timesMs[index];
    }

    /** The sum of all costs up to and with entry {@code index}; with −1, before the first. */
    public long sum(int index) {
        return index < 0 ? sumBefore : sums[index];
    }

    /** The sum of all costs up to the end of this segment. */
    public long lastSum() {
        return sum(size() - 1);
    }

    /** The time of the newest entry; there must be one. */
    public long lastTimeMs() {
        return timesMs[timesMs.length - 1];
    }

    /** This segment with {@code cost} added at {@code timeMs}: to the newest entry if it is of the same time. */
    LogSegment withEntry(long timeMs, long cost) {
        boolean merges = size() > 0 && lastTimeMs() == timeMs;
        int size = merges ? size() : size() + 1;
        long[] times = Arrays.copyOf(timesMs, size);
        long[] all = Arrays.copyOf(sums, size);
        times[size - 1] = timeMs;
        all[size - 1] = lastSum() + cost;
        return of(sumBefore, times, all);
    }

    /** This segment with the newest entry's cost less by {@code cost}, or without it where nothing is left. */
    LogSegment reducedBy(long cost) {
        long left = lastSum() - cost;
        if (left == sum(size() - 2)) {
            return of(sumBefore, Arrays.copyOf(timesMs, size() - 1), Arrays.copyOf(sums, size() - 1));
        }
        long[] all = sums.clone();
        all[size() - 1] = left;
        return of(sumBefore, timesMs, all);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LogSegment segment
                && sumBefore == segment.sumBefore
                && Arrays.equals(timesMs, segment.timesMs)
                && Arrays.equals(sums, segment.sums);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(timesMs) * 31 + Arrays.hashCode(sums);
    }

    @Override
    public String toString() {
        return "LogSegment[" + sumBefore + ", " + Arrays.toString(timesMs) + ", " + Arrays.toString(sums) + "]";
    }
}
