package dev.weir.live;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** What all instances tell, second by second, put together as it comes; the last five minutes of it are kept. */
public final class ClusterTimeline {

    private static final long MS_PER_SECOND = 1_000;

    private final SortedMap<Long, ClusterSecond> ticks = new TreeMap<>();
    private ClusterOverview overview;
    private long lastSecondMs;

    /**
     * What is to be seen.
     *
     * @param lastSecondMs the last second of which there will be no more
     * @param overview null before the first reports
     */
    public record LiveUpdate(List<ClusterSecond> ticks, long lastSecondMs, ClusterOverview overview) {}

    /** The last second that is put together: reports are to begin behind it. */
    public synchronized long lastSecondMs() {
        return lastSecondMs;
    }

    /**
     * Takes what was told since {@link #lastSecondMs}.
     *
     * @param others by their addresses
     * @param unreachable those that told nothing
     */
    public synchronized void add(
            long nowMs, InstanceReport own, Map<String, InstanceReport> others, Set<String> unreachable) {
        List<InstanceReport> reports = new ArrayList<>(others.values());
        reports.add(own);
        // Another one's clock may be behind: it is given a second more.
        long waitMs = others.isEmpty() ? MS_PER_SECOND : 2 * MS_PER_SECOND;
        long end = Math.floorDiv(nowMs, MS_PER_SECOND) * MS_PER_SECOND - waitMs;
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

    /** The seconds that came after one, and how all are now. */
    public synchronized LiveUpdate since(long at) {
        return new LiveUpdate(List.copyOf(ticks.tailMap(at + 1).values()), lastSecondMs, overview);
    }
}
