package dev.weir.limit.segment;

import java.util.Arrays;

/**
 * A run of a log's entries, oldest first. Each entry has a time and the sum of all costs up to and including it, so the
 * cost between any two entries is one subtraction. Sums wrap around; only their differences have a meaning.
 */
public final class LogSegment {

    /** The most entries of a segment. */
    public static final int CAPACITY = 32;

    private final long sumBefore;
    private final long[] timesMs;
    private final long[] sums;

    private LogSegment(long sumBefore, long[] timesMs, long[] sums) {
        this.sumBefore = sumBefore;
        this.timesMs = timesMs;
        this.sums = sums;
    }

    /**
     * Returns a segment without entries.
     *
     * @param sumBefore the sum of all costs before this segment
     */
    public static LogSegment empty(long sumBefore) {
        return new LogSegment(sumBefore, new long[0], new long[0]);
    }

    /**
     * Returns a segment of the given entries. The segment takes over the arrays; callers must not change
     * them afterwards.
     *
     * @throws IllegalArgumentException if the lengths differ or exceed {@link #CAPACITY}
     */
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

    /** Returns the sum of all costs up to and including entry {@code index}; for −1, the sum before the first entry. */
    public long sum(int index) {
        return index < 0 ? sumBefore : sums[index];
    }

    /** Returns the sum of all costs up to the end of this segment. */
    public long lastSum() {
        return sum(size() - 1);
    }

    /** Returns the cost of the newest entry. The segment must not be empty. */
    public long lastCost() {
        return lastSum() - sum(size() - 2);
    }

    /** Returns the time of the newest entry. The segment must not be empty. */
    public long lastTimeMs() {
        return timesMs[timesMs.length - 1];
    }

    /**
     * Returns this segment with {@code cost} added at {@code timeMs}: to the newest entry if it has the same time,
     * otherwise as a new entry.
     */
    public LogSegment withEntry(long timeMs, long cost) {
        boolean merges = size() > 0 && lastTimeMs() == timeMs;
        int size = merges ? size() : size() + 1;
        long[] times = Arrays.copyOf(timesMs, size);
        long[] all = Arrays.copyOf(sums, size);
        times[size - 1] = timeMs;
        all[size - 1] = lastSum() + cost;
        return of(sumBefore, times, all);
    }

    /** Returns the cost of one entry. */
    public long cost(int index) {
        return sum(index) - sum(index - 1);
    }

    /** Returns the index of the last entry that is not after {@code timeMs}; −1 if there is none. */
    public int indexUpTo(long timeMs) {
        int index = Arrays.binarySearch(timesMs, timeMs);
        return index >= 0 ? index : -index - 2;
    }

    /** Returns whether there is an entry at {@code timeMs}. */
    public boolean has(long timeMs) {
        return Arrays.binarySearch(timesMs, timeMs) >= 0;
    }

    /** Returns the sum of all costs up to and including those at {@code timeMs}. */
    public long sumUpTo(long timeMs) {
        return sum(indexUpTo(timeMs));
    }

    /**
     * Returns this segment with {@code cost}, of either sign, added at any time. An entry of cost 0 is removed. There
     * must be room for a new entry.
     */
    public LogSegment plus(long timeMs, long cost) {
        if (cost == 0) {
            return this;
        }
        int at = indexUpTo(timeMs);
        boolean exists = at >= 0 && timesMs[at] == timeMs;
        if (exists && cost(at) == -cost) {
            return without(at, at + 1);
        }
        int from = exists ? at : at + 1;
        int gap = exists ? 0 : 1;
        long[] times = new long[size() + gap];
        long[] all = new long[size() + gap];
        System.arraycopy(timesMs, 0, times, 0, from);
        System.arraycopy(sums, 0, all, 0, from);
        times[from] = timeMs;
        all[from] = sum(at) + cost;
        for (int i = from + 1; i < times.length; i++) {
            times[i] = timesMs[i - gap];
            all[i] = sums[i - gap] + cost;
        }
        return of(sumBefore, times, all);
    }

    /** Returns this segment without the entries from index {@code from} to {@code end − 1}, and without their costs. */
    public LogSegment without(int from, int end) {
        long cost = sum(end - 1) - sum(from - 1);
        long[] times = new long[size() - (end - from)];
        long[] all = new long[times.length];
        for (int i = 0; i < times.length; i++) {
            int old = i < from ? i : i + end - from;
            times[i] = timesMs[old];
            all[i] = sums[old] - (i < from ? 0 : cost);
        }
        return of(sumBefore, times, all);
    }

    /** Returns this segment without the entries up to {@code timeMs}, and without their costs. */
    public LogSegment after(long timeMs) {
        int ended = indexUpTo(timeMs) + 1;
        return ended == 0 ? this : without(0, ended);
    }

    /**
     * Returns this segment with the cost of the newest entry reduced by {@code cost}. An entry of cost 0 is removed.
     */
    public LogSegment reducedBy(long cost) {
        long left = lastSum() - cost;
        if (left == sum(size() - 2)) {
            return of(sumBefore, Arrays.copyOf(timesMs, size() - 1), Arrays.copyOf(sums, size() - 1));
        }
        long[] all = sums.clone();
        all[size() - 1] = left;
        return of(sumBefore, timesMs, all);
    }

    /** Returns this segment with {@code change} added to the cost of an entry. An entry of cost 0 stays. */
    public LogSegment corrected(int index, long change) {
        long[] all = sums.clone();
        for (int i = index; i < all.length; i++) {
            all[i] += change;
        }
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
