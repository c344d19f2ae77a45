package dev.weir.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.LongAdder;

/** How values are spread between bounds; many may add at once. */
public final class Histogram {

    private final List<Long> bounds;
    private final LongAdder[] counts;
    private final LongAdder sum = new LongAdder();

    /**
     * What was added so far.
     *
     * @param bounds upwards
     * @param counts how many values are at most each bound and above the one before; the last: above all
     */
    public record Reading(List<Long> bounds, List<Long> counts, long sum) {

        /** How many there are. */
        public long count() {
            return counts.stream().mapToLong(Long::longValue).sum();
        }

        /** This and another one of the same bounds. */
        public Reading plus(Reading other) {
            return with(other, 1);
        }

        /** What came since an earlier one of the same values. */
        public Reading minus(Reading earlier) {
            return with(earlier, -1);
        }

        /**
         * What so great a part is at most: a bound.
         *
         * @param part above 0, to 1
         * @return none if there are no values, or it is above all bounds
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

    /** @param bounds upwards */
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

    public Reading read() {
        List<Long> read = new ArrayList<>();
        for (LongAdder count : counts) {
            read.add(count.sum());
        }
        return new Reading(bounds, read, sum.sum());
    }
}
