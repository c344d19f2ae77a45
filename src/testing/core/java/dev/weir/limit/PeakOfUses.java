package dev.weir.limit;

import java.util.TreeMap;

/** Computes the most that is in use at once, from intervals in any order. */
public final class PeakOfUses {

    private final TreeMap<Long, Long> changes = new TreeMap<>();

    /** Adds a use of some slots, from a time until just before another one. */
    public void add(long count, long fromMs, long untilMs) {
        if (untilMs > fromMs) {
            changes.merge(fromMs, count, Long::sum);
            changes.merge(untilMs, -count, Long::sum);
        }
    }

    /** Returns the most in use at once. */
    public long most() {
        long inUse = 0;
        long most = 0;
        for (long change : changes.values()) {
            inUse += change;
            most = Math.max(most, inUse);
        }
        return most;
    }
}
