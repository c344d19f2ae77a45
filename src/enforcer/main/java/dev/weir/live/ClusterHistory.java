package dev.weir.live;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The figures of all instances by the minute. Counts are those of the whole minute.
 *
 * @param minutes oldest first
 * @param missing the addresses of instances whose figures are missing
 */
public record ClusterHistory(List<ClusterSecond> minutes, Set<String> missing) {

    /** The maximum age of a minute, in hours. */
    public static final int MAX_HOURS = MinuteHistory.KEPT_MINUTES / 60;

    /** The clocks of other instances may be behind, so they have a minute later. */
    private static final long WAIT_MS = 2_000;

    /**
     * Adds up the reports of instances, except the minutes that not all can have reported yet.
     *
     * @param reports those of {@link Sampler#minutesSince}
     */
    public static ClusterHistory of(long nowMs, Collection<InstanceReport> reports, Set<String> missing) {
        SortedMap<Long, List<InstanceSecond>> byMinute = new TreeMap<>();
        for (InstanceReport report : reports) {
            for (InstanceSecond minute : report.seconds()) {
                if (minute.at() + MinuteHistory.MS_PER_MINUTE + WAIT_MS <= nowMs) {
                    byMinute.computeIfAbsent(minute.at(), at -> new ArrayList<>())
                            .add(minute);
                }
            }
        }
        return new ClusterHistory(
                byMinute.values().stream().map(ClusterSecond::of).toList(), missing);
    }
}
