package dev.weir.shape.backlog;

import java.util.Arrays;

/**
 * A histogram of sizes that bounds the sum of all sizes when each is capped, and the sizes themselves. Sizes are
 * grouped by powers of two. The sum is exact except for sizes in the same group as the cap: these count either all in
 * full or all as the cap, whichever sum is smaller, so it is never too low.
 */
final class SizeHistogram {

    private static final long[] NONE = {};

    private long[] counts = NONE;
    private long[] sums = NONE;
    private long[] smallest = NONE; // of all sizes since the group was last empty
    private long[] largest = NONE;

    /** @param size 0 or more */
    void add(long size) {
        int power = power(size);
        if (power >= counts.length) {
            counts = Arrays.copyOf(counts, power + 1);
            sums = Arrays.copyOf(sums, power + 1);
            smallest = Arrays.copyOf(smallest, power + 1);
            largest = Arrays.copyOf(largest, power + 1);
        }
        smallest[power] = counts[power] == 0 ? size : Math.min(smallest[power], size);
        largest[power] = counts[power] == 0 ? size : Math.max(largest[power], size);
        counts[power]++;
        sums[power] += size;
    }

    /**
     * Returns a lower bound of all sizes, more than half of the smallest one; 0 if there are none. It is exact if all
     * sizes are the same.
     */
    long leastSize() {
        for (int p = 0; p < counts.length; p++) {
            if (counts[p] > 0) {
                return smallest[p];
            }
        }
        return 0;
    }

    /**
     * Returns an upper bound of all sizes, less than twice the largest one; 0 if there are none. It is exact if all
     * sizes are the same.
     */
    long largestSize() {
        for (int p = counts.length - 1; p >= 0; p--) {
            if (counts[p] > 0) {
                return largest[p];
            }
        }
        return 0;
    }

    void remove(long size) {
        int power = power(size);
        counts[power]--;
        sums[power] -= size;
    }

    /** Returns an upper bound of the sum of all sizes, each capped at {@code most}. */
    long sumCappedAt(long most) {
        int power = power(most);
        long sum = 0;
        for (int p = 0; p < counts.length; p++) {
            if (counts[p] > 0) {
                sum += p < power ? sums[p] : least(sums[p], counts[p], most);
            }
        }
        return sum;
    }

    private static long least(long sum, long count, long most) {
        return Math.min(sum, saturated(count, most));
    }

    private static long saturated(long count, long size) {
        return Math.multiplyHigh(count, size) == 0 && count * size >= 0 ? count * size : Long.MAX_VALUE;
    }

    private static int power(long size) {
        return Long.SIZE - 1 - Long.numberOfLeadingZeros(size | 1);
    }
}
