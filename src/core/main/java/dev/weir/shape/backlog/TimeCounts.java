package dev.weir.shape.backlog;

import java.util.Map;
import java.util.TreeMap;

/**
 * A multiset of times, of which the first one is known. They are counted in at most {@value #MAX_INTERVALS} intervals of
 * equal length, 1 ms at first.
 */
final class TimeCounts {

    /** The most intervals in which times are counted; beyond it, adjacent intervals are merged. */
    static final int MAX_INTERVALS = 4_096;

    private final TreeMap<Long, Integer> times = new TreeMap<>();
    private int intervalBits; // an interval is two to this power, in ms

    void add(long ms) {
        times.merge(ms >> intervalBits, 1, Integer::sum);
        if (times.size() > MAX_INTERVALS) {
            mergeIntervals();
        }
    }

    /** Removes a time that was added. */
    void remove(long ms) {
        times.merge(ms >> intervalBits, -1, (had, less) -> had + less == 0 ? null : (Integer) (had + less));
        if (times.isEmpty()) {
            intervalBits = 0;
        }
    }

    /** Doubles the length of intervals until at most half of the permitted number is left. */
    private void mergeIntervals() {
        while (times.size() > MAX_INTERVALS / 2) {
            Map<Long, Integer> finer = Map.copyOf(times);
            times.clear();
            finer.forEach((time, count) -> times.merge(time >> 1, count, Integer::sum));
            intervalBits++;
        }
    }

    /**
     * Returns the first time, in milliseconds since the epoch; null if there is none. It is exact if there were at most
     * {@value #MAX_INTERVALS} different times. Otherwise it is too early by at most a 1,024th of the longest time between
     * the first and the last one since there was none.
     */
    Long firstMs() {
        return times.isEmpty() ? null : (Long) (times.firstKey() << intervalBits);
    }

    int intervals() {
        return times.size();
    }
}
