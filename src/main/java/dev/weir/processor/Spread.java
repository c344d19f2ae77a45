package dev.weir.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** How values are spread between bounds; many may add at once. */
public final class Spread {

    private final List<Long> bounds;
    private final LongAdder[] counts;
    private final LongAdder sum = new LongAdder();

    /**
     * What was added so far.
     *
     * @param bounds upwards
     * @param counts how many values are at most each bound and above the one before; the last: above all
     */
    public record Reading(List<Long> bounds, List<Long> counts, long sum) {}

    /** @param bounds upwards */
    Spread(List<Long> bounds) {
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
