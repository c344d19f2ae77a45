package dev.weir.live;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** Merges the reports of all instances, second by second, and keeps the last five minutes. */
public final class ClusterTimeline {

    private static final long MS_PER_SECOND = 1_000;

    private final SortedMap<Long, ClusterSecond> ticks = new TreeMap<>();
    private ClusterOverview overview;
    private long lastSecondMs;

    /**
     * The data for a viewer.
     *
     * @param lastSecondMs the last second that is complete
     * @param overview null before the first reports
     */
    public record LiveUpdate(List<ClusterSecond> ticks, long lastSecondMs, ClusterOverview overview) {}

    /** Returns the last second that has been merged. Reports must begin after it. */
    public synchronized long lastSecondMs() {
        return lastSecondMs;
    }

    /**
     * Adds the reports since {@link #lastSecondMs}. If the clock was set back, forgets all seconds, and
     * {@link #lastSecondMs} becomes 0.
     *
     * @param others the reports of other instances, by address
     * @param unreachable the addresses of instances without a report
     */
    public synchronized void add(
            long nowMs, InstanceReport own, Map<String, InstanceReport> others, Set<String> unreachable) {
        List<InstanceReport> reports = new ArrayList<>(others.values());
        reports.add(own);
        // The clock of another instance may be behind, so its reports have one more second.
        long waitMs = others.isEmpty() ? MS_PER_SECOND : 2 * MS_PER_SECOND;
        long end = Math.floorDiv(nowMs, MS_PER_SECOND) * MS_PER_SECOND - waitMs;
        if (lastSecondMs - end > Sampler.MAX_BACKWARD_MS) { // the clock was set back
            ticks.clear();
            lastSecondMs = 0;
        }
        SortedMap<Long, List<InstanceSecond>> bySecond = new TreeMap<>();
        Map<String, Long> perSecond = new TreeMap<>();
        for (InstanceReport report : reports) {
            for (InstanceSecond second : report.seconds()) {
                if (second.at() > lastSecondMs && second.at() <= end) {
                    bySecond.computeIfAbsent(second.at(), at -> new ArrayList<>())
                            .add(second);
                }
                perSecond.put(
                        report.now().address(),
                        second.decisions().values().stream()
                                .mapToLong(Long::longValue)
                                .sum());
            }
        }
        bySecond.forEach((at, seconds) -> ticks.put(at, ClusterSecond.of(seconds)));
        while (ticks.size() > Sampler.KEPT_SECONDS) {
            ticks.remove(ticks.firstKey());
        }
        if (!ticks.isEmpty()) {
            lastSecondMs = ticks.lastKey();
        }
        overview = ClusterOverview.of(
                nowMs,
                own.now().address(),
                reports.stream().map(InstanceReport::now).toList(),
                perSecond,
                new TreeSet<>(unreachable));
    }

    /** Returns the seconds after a given one, and the present state of all instances. */
    public synchronized LiveUpdate since(long at) {
        return new LiveUpdate(List.copyOf(ticks.tailMap(at + 1).values()), lastSecondMs, overview);
    }
}
