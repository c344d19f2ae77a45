package dev.weir.shape.backlog;

import java.util.Arrays;

/**
 * How sizes are spread: enough to tell how much all have together if none has more than so much. Sizes are kept by
 * powers of two, so it is exact but for those between the same two powers as the bound: of them, all have the bound or
 * all their own.
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

    /** The sum of all sizes, none of which counts for more than {@code most}. */
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
