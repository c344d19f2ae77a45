package dev.weir.shape.backlog;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** How many requests are in flight, and which slots they occupy. */
final class InFlightCounts {

    /** Counts of nothing, to which nothing is added. */
    static final InFlightCounts NONE = new InFlightCounts();

    private final Map<String, Long> slotsByTier = new HashMap<>(); // without those that have none
    private long requests;
    private long slots;

    /** Adds requests of a tier, or removes them if the numbers are negative. */
    void add(String tier, long moreRequests, long moreSlots) {
        requests += moreRequests;
        slots += moreSlots;
        add(tier, moreSlots, slotsByTier);
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

    long slotsOfTier(String tier) {
        return slotsByTier.getOrDefault(tier, 0L);
    }

    /** Returns the slots by tier, for those that have any. */
    Map<String, Long> slotsByTier() {
        return new TreeMap<>(slotsByTier);
    }
}
