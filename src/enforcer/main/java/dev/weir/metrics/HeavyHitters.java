package dev.weir.metrics;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Counts the most frequent names in bounded memory with the Space-Saving algorithm (A. Metwally, D. Agrawal, A. El
 * Abbadi: <i>Efficient Computation of Frequent and Top-k Elements in Data Streams</i>, 2005). Counts are exact for up
 * to {@code capacity} names. With more names, a count is too high by at most the count of the name that it replaced.
 * Not thread-safe.
 */
public final class HeavyHitters<T extends Comparable<? super T>> {

    private final int capacity;
    private boolean isExact = true;
    private final Map<T, Long> counts = new HashMap<>();
    private final TreeMap<Long, TreeSet<T>> byCount = new TreeMap<>();

    /**
     * A name and its count.
     *
     * @param name the name
     * @param count the estimated count, at least the true one
     */
    public record Hitter<T>(T name, long count) {}

    /** @param capacity the maximum number of names that are counted at the same time */
    public HeavyHitters(int capacity) {
        this.capacity = capacity;
    }

    /** Counts a name once. */
    public void add(T name) {
        add(name, 1);
    }

    /**
     * Counts a name several times.
     *
     * @param more the number of times, 1 or more
     */
    public void add(T name, long more) {
        Long count = counts.get(name);
        if (count == null && counts.size() == capacity) {
            Map.Entry<Long, TreeSet<T>> least = byCount.firstEntry();
            T replaced = least.getValue().first();
            count = least.getKey();
            counts.remove(replaced);
            isExact = false;
            removeFromCount(replaced, count);
        } else if (count != null) {
            removeFromCount(name, count);
        }
        long next = count == null ? more : count + more;
        counts.put(name, next);
        byCount.computeIfAbsent(next, c -> new TreeSet<>()).add(name);
    }

    /** Returns whether all counts are exact, because there were no more names than the capacity. */
    public boolean isExact() {
        return isExact;
    }

    /** Returns the names with the highest counts, in descending order, ties in ascending order of the name. */
    public List<Hitter<T>> top(int most) {
        List<Hitter<T>> top = new ArrayList<>();
        for (Map.Entry<Long, TreeSet<T>> entry : byCount.descendingMap().entrySet()) {
            for (T name : entry.getValue()) {
                if (top.size() == most) {
                    return top;
                }
                top.add(new Hitter<>(name, entry.getKey()));
            }
        }
        return top;
    }

    private void removeFromCount(T name, long count) {
        TreeSet<T> names = byCount.get(count);
        names.remove(name);
        if (names.isEmpty()) {
            byCount.remove(count);
        }
    }
}
