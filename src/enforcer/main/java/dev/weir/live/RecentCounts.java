package dev.weir.live;

import dev.weir.metrics.HeavyHitters;
import dev.weir.processor.ClientRing;
import dev.weir.processor.EnforcerMetrics;
import dev.weir.processor.Histogram;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The counts of the last minute, give or take ten seconds, the clients with the most denials, and the clients of the
 * last decisions.
 */
final class RecentCounts {

    private static final int SLOTS = 6;
    private static final int SECONDS_PER_SLOT = 10;
    private static final int MAX_CLIENTS = 1_000;

    private final EnforcerMetrics counts;
    private final Deque<Slot> slots = new ArrayDeque<>();
    private CounterSnapshot now;
    private CounterSnapshot lastMinute;
    private final Map<String, Long> recentAtMs = new LinkedHashMap<>(); // the latest last
    private long denied;
    private long recent;
    private int seconds;

    /** The counts at the beginning of ten seconds, and the clients that were denied in them. */
    private record Slot(CounterSnapshot before, HeavyHitters denied) {}

    RecentCounts(EnforcerMetrics counts) {
        this.counts = counts;
        now = CounterSnapshot.of(counts);
        lastMinute = now.minus(now);
        slots.add(new Slot(now, new HeavyHitters(MAX_CLIENTS)));
    }

    /**
     * Must be called each second. Returns the counts of the second.
     *
     * @param atMs the beginning of the second
     */
    CounterSnapshot nextSecond(long atMs) {
        CounterSnapshot before = now;
        now = CounterSnapshot.of(counts);
        if (++seconds % SECONDS_PER_SLOT == 0) {
            slots.addLast(new Slot(before, new HeavyHitters(MAX_CLIENTS)));
            if (slots.size() > SLOTS) {
                slots.removeFirst();
            }
        }
        lastMinute = now.minus(slots.getFirst().before);
        count(counts.denied().since(denied), slots.getLast().denied);
        addRecent(counts.recent().since(recent), atMs);
        return now.minus(before);
    }

    private void addRecent(ClientRing.Snapshot look, long atMs) {
        for (String client : look.clients()) {
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

    /** If there were more denials than are kept, each of those that are kept counts as several. */
    private void count(ClientRing.Snapshot look, HeavyHitters hitters) {
        Map<String, Long> looked = new HashMap<>();
        look.clients().forEach(client -> looked.merge(client, 1L, Long::sum));
        long all = look.added() - denied;
        long kept = look.clients().size();
        looked.forEach((client, count) -> hitters.add(client, Math.max(1, count * all / kept)));
        denied = look.added();
    }

    List<InstanceStatus.DeniedClient> clients(int most) {
        Map<String, Long> sums = new HashMap<>();
        for (Slot slot : slots) {
            slot.denied.top(MAX_CLIENTS).forEach(hitter -> sums.merge(hitter.name(), hitter.count(), Long::sum));
        }
        return sums.entrySet().stream()
                .map(entry -> new InstanceStatus.DeniedClient(entry.getKey(), entry.getValue()))
                .sorted(Rankings.CLIENTS)
                .limit(most)
                .toList();
    }

    List<InstanceStatus.PolicyCounts> policies(int most) {
        Map<String, InstanceStatus.PolicyCounts> byPolicy = new HashMap<>();
        lastMinute.evaluations().forEach((evaluation, count) -> {
            String policy = evaluation.policy();
            InstanceStatus.PolicyCounts one =
                    switch (evaluation.result()) {
                        case ALLOWED -> new InstanceStatus.PolicyCounts(policy, count, 0, 0);
                        case DENIED -> new InstanceStatus.PolicyCounts(policy, 0, count, 0);
                        case QUEUED -> new InstanceStatus.PolicyCounts(policy, 0, 0, count);
                        case EXPIRED -> new InstanceStatus.PolicyCounts(policy, 0, 0, 0); // counted as queued
                    };
            byPolicy.merge(policy, one, InstanceStatus.PolicyCounts::plus);
        });
        return byPolicy.values().stream()
                .filter(policy -> policy.decided() > 0)
                .sorted(Rankings.POLICIES)
                .limit(most)
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

    /** The order of clients and policies. */
    static final class Rankings {

        static final Comparator<InstanceStatus.DeniedClient> CLIENTS = Comparator.comparingLong(
                        InstanceStatus.DeniedClient::denied)
                .reversed()
                .thenComparing(InstanceStatus.DeniedClient::client);

        static final Comparator<InstanceStatus.RecentClient> RECENT = Comparator.comparingLong(
                        InstanceStatus.RecentClient::lastAt)
                .reversed()
                .thenComparing(InstanceStatus.RecentClient::client);

        static final Comparator<InstanceStatus.PolicyCounts> POLICIES = Comparator.comparingLong(
                        InstanceStatus.PolicyCounts::denied)
                .thenComparingLong(InstanceStatus.PolicyCounts::decided)
                .reversed()
                .thenComparing(InstanceStatus.PolicyCounts::policy);

        private Rankings() {}
    }
}
