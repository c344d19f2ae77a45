package dev.weir.shape.backlog;

import java.util.Arrays;

/**
 * A histogram of sizes that estimates the sum of all sizes when each is capped. Sizes are grouped by powers of two. The
 * result is exact except for sizes in the same group as the cap: these count either all in full or all as the cap,
 * whichever sum is smaller.
 */
final class SizeHistogram {

    private long[] counts = {};
    private long[] sums = {};

    /** @param size 0 or more */
    void add(long size) {
        int power = power(size);
        if (power >= counts.length) {
            counts = Arrays.copyOf(counts, power + 1);
            sums = Arrays.copyOf(sums, power + 1);
        }
        counts[power]++;
        sums[power] += size;
    }

    void remove(long size) {
        int power = power(size);
        counts[power]--;
        sums[power] -= size;
    }

    /** Returns the sum of all sizes, each capped at {@code most}. */
    long sumCappedAt(long most) {
        int power = power(most);
        long sum = 0;
        for (int p = 0; p < counts.length; p++) {
            if (counts[p] > 0) {
                sum += p < power ? sums[p] : p == power ? least(sums[p], counts[p], most) : counts[p] * most;
            }
        }
        return sum;
    }

    private static long least(long sum, long count, long most) {
        return Math.min(sum, count * most);
    }

    private static int power(long size) {
        return Long.SIZE - 1 - Long.numberOfLeadingZeros(size | 1);
    }
}
