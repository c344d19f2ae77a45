package dev.weir.shape.backlog;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** How many requests are in flight, since when, and which slots they occupy. */
final class InFlightCounts {

    /** Counts of nothing, to which nothing is added. */
    static final InFlightCounts NONE = new InFlightCounts();

    private final Map<String, Long> slotsByTier = new HashMap<>(); // without those that have none
    private long requests;
    private long slots;
    private final TimeCounts starts = new TimeCounts();

    /** Adds a request of a tier that was released at some time; or removes it, if the sign is -1. */
    void add(String tier, long ofRequest, long startedAtMs, int sign) {
        requests += sign;
        slots += sign * ofRequest;
        add(tier, sign * ofRequest, slotsByTier);
        if (sign > 0) {
            starts.add(startedAtMs);
        } else {
            starts.remove(startedAtMs);
        }
    }

    /** Adds to the sum of a name, which is removed at 0. */
    static void add(String name, long more, Map<String, Long> sums) {
        sums.merge(name, more, (had, added) -> had + added == 0 ? null : (Long) (had + added));
    }

    long requests() {
        return requests;
    }

    long slots() {
        return slots;
    }

    /** Returns when the oldest request was released, as {@link TimeCounts#firstMs} does. */
    Long oldestSinceMs() {
        return starts.firstMs();
    }

    long slotsOfTier(String tier) {
        return slotsByTier.getOrDefault(tier, 0L);
    }

    /** Returns the slots by tier, for those that have any. */
    Map<String, Long> slotsByTier() {
        return new TreeMap<>(slotsByTier);
    }
}
