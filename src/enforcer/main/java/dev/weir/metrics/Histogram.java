package dev.weir.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.LongAdder;

/** A histogram with fixed bucket bounds. Thread-safe; additions do not block each other. */
public final class Histogram {

    private final List<Long> bounds;
    private final LongAdder[] counts;
    private final LongAdder sum = new LongAdder();

    /**
     * A reading of a histogram.
     *
     * @param bounds the inclusive upper bounds of the buckets, ascending
     * @param counts the number of values in each bucket; the additional last one counts the values above all bounds
     * @param sum the sum of all values
     */
    public record Reading(List<Long> bounds, List<Long> counts, long sum) {

        /** Returns the number of values. */
        public long count() {
            return counts.stream().mapToLong(Long::longValue).sum();
        }

        /** Returns the sum of this reading and another one with the same bounds. */
        public Reading plus(Reading other) {
            return with(other, 1);
        }

        /** Returns the values that were added since an earlier reading of the same histogram. */
        public Reading minus(Reading earlier) {
            return with(earlier, -1);
        }

        /**
         * Returns an upper bound of a quantile: the upper bound of its bucket.
         *
         * @param part the quantile, above 0 and at most 1
         * @return empty if there are no values, or the quantile is above all bounds
         */
        public OptionalLong quantile(double part) {
            long rank = (long) Math.ceil(part * (double) count());
            for (int i = 0; i < counts.size(); i++) {
                rank -= counts.get(i);
                if (rank <= 0 && counts.get(i) > 0) {
                    return i < bounds.size() ? OptionalLong.of(bounds.get(i)) : OptionalLong.empty();
                }
            }
            return OptionalLong.empty();
        }

        private Reading with(Reading other, int sign) {
            List<Long> both = new ArrayList<>();
            for (int i = 0; i < counts.size(); i++) {
                both.add(counts.get(i) + sign * other.counts.get(i));
            }
            return new Reading(bounds, both, sum + sign * other.sum);
        }
    }

    /** @param bounds the inclusive upper bounds of the buckets, ascending */
    Histogram(List<Long> bounds) {
        this.bounds = bounds;
        counts = new LongAdder[bounds.size() + 1];
        for (int i = 0; i < counts.length; i++) {
            counts[i] = new LongAdder();
        }
    }

    void add(long value) {
        int bucket = 0;
        while (bucket < bounds.size() && value > bounds.get(bucket)) {
            bucket++;
        }
        counts[bucket].increment();
        sum.add(value);
    }

    /** Returns the values so far. Additions at the same time can be counted in part. */
    public Reading read() {
        List<Long> read = new ArrayList<>();
        for (LongAdder count : counts) {
            read.add(count.sum());
        }
        return new Reading(bounds, read, sum.sum());
    }
}
