package dev.weir.metrics;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The names that were counted most, in bounded memory (Space-Saving; Metwally, Agrawal, El Abbadi, 2005): exact while
 * there are no more than {@code capacity} names; beyond, a count is too high by at most that of the name it replaced.
 */
public final class HeavyHitters {

    private final int capacity;
    private final Map<String, Long> counts = new HashMap<>();
    private final TreeMap<Long, TreeSet<String>> byCount = new TreeMap<>();

    /**
     * A name and how often it was counted.
     *
     * @param count at least the true count
     */
    public record Hitter(String name, long count) {}

    public HeavyHitters(int capacity) {
        this.capacity = capacity;
    }

    public void add(String name) {
        add(name, 1);
    }

    /** @param more how often it was counted, 1 or more */
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

    /** The names with the highest counts, ties by name. */
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
