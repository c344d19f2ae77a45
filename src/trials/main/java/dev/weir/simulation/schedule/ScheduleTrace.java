package dev.weir.simulation.schedule;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The events of a schedule: the last ones as text, a fingerprint of all to compare runs, and the number of each kind.
 */
public final class ScheduleTrace {

    private static final int KEPT = 60;
    private static final int PRIME = 31;

    private record Happened(int number, long atMs, String what) {

        @Override
        public String toString() {
            return "%5d  +%d ms  %s".formatted(number, atMs - SchedulePlan.BEGIN_MS, what);
        }
    }

    private final Deque<Happened> last = new ArrayDeque<>();
    private final Map<String, Integer> counts = new TreeMap<>();
    private long fingerprint;
    private int events;

    public void add(long nowMs, String what) {
        fingerprint = PRIME * fingerprint + what.hashCode() + nowMs;
        events++;
        last.add(new Happened(events, nowMs, what));
        if (last.size() > KEPT) {
            last.remove();
        }
    }

    public void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    public Map<String, Integer> counts() {
        return counts;
    }

    public long fingerprint() {
        return fingerprint;
    }

    public int events() {
        return events;
    }

    @Override
    public String toString() {
        return last.stream().map(Happened::toString).collect(Collectors.joining("\n"));
    }
}
