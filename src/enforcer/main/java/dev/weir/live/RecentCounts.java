package dev.weir.live;

import dev.weir.metrics.HeavyHitters;
import dev.weir.processor.DeniedClients;
import dev.weir.processor.EnforcerMetrics;
import dev.weir.processor.Histogram;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The counts of the last minute, give or take ten seconds, and the clients with the most denials. */
final class RecentCounts {

    private static final int SLOTS = 6;
    private static final int SECONDS_PER_SLOT = 10;
    private static final int MAX_CLIENTS = 1_000;

    private final EnforcerMetrics counts;
    private final Deque<Slot> slots = new ArrayDeque<>();
    private CounterSnapshot now;
    private long denied;
    private int seconds;

    /** The counts at the beginning of ten seconds, and the clients that were denied in them. */
    private record Slot(CounterSnapshot before, HeavyHitters denied) {}

    RecentCounts(EnforcerMetrics counts) {
        this.counts = counts;
        now = CounterSnapshot.of(counts);
        slots.add(new Slot(now, new HeavyHitters(MAX_CLIENTS)));
    }

    /** Must be called each second. Returns the counts of the second. */
    CounterSnapshot nextSecond() {
        CounterSnapshot before = now;
        now = CounterSnapshot.of(counts);
        if (++seconds % SECONDS_PER_SLOT == 0) {
            slots.addLast(new Slot(before, new HeavyHitters(MAX_CLIENTS)));
            if (slots.size() > SLOTS) {
                slots.removeFirst();
            }
        }
        count(counts.denied().since(denied), slots.getLast().denied);
        return now.minus(before);
    }

    /** If there were more denials than are kept, each of those that are kept counts as several. */
    private void count(DeniedClients.Snapshot look, HeavyHitters hitters) {
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
        lastMinute().decisions().forEach((kind, count) -> {
            InstanceStatus.PolicyCounts one =
                    switch (kind.outcome()) {
                        case ALLOWED -> new InstanceStatus.PolicyCounts(kind.policy(), count, 0, 0);
                        case DENIED -> new InstanceStatus.PolicyCounts(kind.policy(), 0, count, 0);
                        case QUEUED -> new InstanceStatus.PolicyCounts(kind.policy(), 0, 0, count);
                        case EXPIRED -> new InstanceStatus.PolicyCounts(kind.policy(), 0, 0, 0); // counted as queued
                    };
            byPolicy.merge(kind.policy(), one, InstanceStatus.PolicyCounts::plus);
        });
        return byPolicy.values().stream()
                .filter(policy -> policy.decided() > 0)
                .sorted(Rankings.POLICIES)
                .limit(most)
                .toList();
    }

    /** Returns the waits of the releases of a queue; null if there are none. */
    Histogram.Reading waitsMs(String queue) {
        return lastMinute().waitsMs().entrySet().stream()
                .filter(entry -> entry.getKey().queue().equals(queue))
                .map(Map.Entry::getValue)
                .reduce(Histogram.Reading::plus)
                .orElse(null);
    }

    private CounterSnapshot lastMinute() {
        return now.minus(slots.getFirst().before);
    }

    /** The order of clients and policies. */
    static final class Rankings {

        static final Comparator<InstanceStatus.DeniedClient> CLIENTS = Comparator.comparingLong(
                        InstanceStatus.DeniedClient::denied)
                .reversed()
                .thenComparing(InstanceStatus.DeniedClient::client);

        static final Comparator<InstanceStatus.PolicyCounts> POLICIES = Comparator.comparingLong(
                        InstanceStatus.PolicyCounts::denied)
                .thenComparingLong(InstanceStatus.PolicyCounts::decided)
                .reversed()
                .thenComparing(InstanceStatus.PolicyCounts::policy);

        private Rankings() {}
    }
}
