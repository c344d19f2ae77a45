package dev.weir.live;

import dev.weir.metrics.EnforcerMetrics;
import dev.weir.metrics.Histogram;
import dev.weir.metrics.RecentRing;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The counts of the last minute, give or take ten seconds, and the clients of the last decisions. */
final class RecentCounts {

    private static final int SLOTS = 6;
    private static final int SECONDS_PER_SLOT = 10;

    private final EnforcerMetrics metrics;
    private final Deque<CounterSnapshot> slots = new ArrayDeque<>(); // the counts at the beginning of each ten seconds
    private CounterSnapshot now;
    private CounterSnapshot lastMinute;
    private final Map<String, Long> recentAtMs = new LinkedHashMap<>(); // the latest last
    private long recent;
    private int seconds;

    RecentCounts(EnforcerMetrics metrics) {
        this.metrics = metrics;
        now = CounterSnapshot.of(metrics);
        lastMinute = now.minus(now);
        slots.add(now);
    }

    /**
     * Must be called each second. Returns the counts of the second.
     *
     * @param atMs the beginning of the second
     */
    CounterSnapshot nextSecond(long atMs) {
        CounterSnapshot before = now;
        now = CounterSnapshot.of(metrics);
        if (++seconds % SECONDS_PER_SLOT == 0) {
            slots.addLast(before);
            if (slots.size() > SLOTS) {
                slots.removeFirst();
            }
        }
        lastMinute = now.minus(slots.getFirst());
        addRecent(metrics.recent().since(recent), atMs);
        return now.minus(before);
    }

    private void addRecent(RecentRing.Snapshot<String> look, long atMs) {
        for (String client : look.entries()) {
            recentAtMs.remove(client);
            recentAtMs.put(client, atMs);
        }
        for (Iterator<String> eldest = recentAtMs.keySet().iterator(); recentAtMs.size() > Sampler.MAX_RECENT; ) {
            eldest.next();
            eldest.remove();
        }
        recent = look.added();
    }

    /** Returns the clients of the last decisions, the latest first. */
    List<InstanceStatus.RecentClient> recentClients() {
        return recentAtMs.entrySet().stream()
                .map(entry -> new InstanceStatus.RecentClient(entry.getKey(), entry.getValue()))
                .sorted(Rankings.RECENT)
                .toList();
    }

    /** Returns the waits of the releases of a queue; null if there are none. */
    Histogram.Reading waitsMs(String queue) {
        return lastMinute.waitsMs().entrySet().stream()
                .filter(entry -> entry.getKey().queue().equals(queue))
                .map(Map.Entry::getValue)
                .reduce(Histogram.Reading::plus)
                .orElse(null);
    }

    /** The order of clients. */
    static final class Rankings {

        static final Comparator<InstanceStatus.RecentClient> RECENT = Comparator.comparingLong(
                        InstanceStatus.RecentClient::lastAt)
                .reversed()
                .thenComparing(InstanceStatus.RecentClient::client);

        private Rankings() {}
    }
}
