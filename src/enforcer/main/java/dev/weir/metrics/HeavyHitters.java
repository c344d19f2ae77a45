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
public final class HeavyHitters {

    private final int capacity;
    private final Map<String, Long> counts = new HashMap<>();
    private final TreeMap<Long, TreeSet<String>> byCount = new TreeMap<>();

    /**
     * A name and its count.
     *
     * @param name the name
     * @param count the estimated count, at least the true one
     */
    public record Hitter(String name, long count) {}

    /** @param capacity the maximum number of names that are counted at the same time */
    public HeavyHitters(int capacity) {
        this.capacity = capacity;
    }

    /** Counts a name once. */
    public void add(String name) {
        add(name, 1);
    }

    /**
     * Counts a name several times.
     *
     * @param more the number of times, 1 or more
     */
    public void add(String name, long more) {
        Long count = counts.get(name);
        if (count == null && counts.size() == capacity) {
            Map.Entry<Long, TreeSet<String>> least = byCount.firstEntry();
            String replaced = least.getValue().first();
            count = least.getKey();
            counts.remove(replaced);
            removeFromCount(replaced, count);
        } else if (count != null) {
            removeFromCount(name, count);
        }
        long next = count == null ? more : count + more;
        counts.put(name, next);
        byCount.computeIfAbsent(next, c -> new TreeSet<>()).add(name);
    }

    /** Returns the names with the highest counts, in descending order, ties in ascending order of the name. */
    public List<Hitter> top(int most) {
        List<Hitter> top = new ArrayList<>();
        for (Map.Entry<Long, TreeSet<String>> entry : byCount.descendingMap().entrySet()) {
            for (String name : entry.getValue()) {
                if (top.size() == most) {
                    return top;
                }
                top.add(new Hitter(name, entry.getKey()));
            }
        }
        return top;
    }

    private void removeFromCount(String name, long count) {
        TreeSet<String> names = byCount.get(count);
        names.remove(name);
        if (names.isEmpty()) {
            byCount.remove(count);
        }
    }
}
