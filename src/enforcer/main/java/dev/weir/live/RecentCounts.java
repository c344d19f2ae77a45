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

/** What was counted in the last minute, give or take ten seconds, and who was denied most. */
final class RecentCounts {

    private static final int SLOTS = 6;
    private static final int SECONDS_PER_SLOT = 10;
    private static final int MAX_CLIENTS = 1_000;

    private final EnforcerMetrics counts;
    private final Deque<Slot> slots = new ArrayDeque<>();
    private CounterSnapshot now;
    private long denied;
    private int seconds;

    /** What had been counted at its beginning, and who was denied in it. */
    private record Slot(CounterSnapshot before, HeavyHitters denied) {}

    RecentCounts(EnforcerMetrics counts) {
        this.counts = counts;
        now = CounterSnapshot.of(counts);
        slots.add(new Slot(now, new HeavyHitters(MAX_CLIENTS)));
    }

    /** A second has passed; what was counted in it. */
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

    /** Where more were denied than are kept, each of those that are kept stands for several. */
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
                        case EXPIRED -> new InstanceStatus.PolicyCounts(kind.policy(), 0, 0, 0); // it was queued before
                    };
            byPolicy.merge(kind.policy(), one, InstanceStatus.PolicyCounts::plus);
        });
        return byPolicy.values().stream()
                .filter(policy -> policy.decided() > 0)
                .sorted(Rankings.POLICIES)
                .limit(most)
                .toList();
    }

    /** How long the releases of a queue had waited. */
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

    /** Who comes first. */
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
