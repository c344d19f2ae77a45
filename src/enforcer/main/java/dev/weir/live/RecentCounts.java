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
    private static final int SECONDS_A_SLOT = 10;
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
    CounterSnapshot pass() {
        CounterSnapshot before = now;
        now = CounterSnapshot.of(counts);
        if (++seconds % SECONDS_A_SLOT == 0) {
            slots.addLast(new Slot(before, new HeavyHitters(MAX_CLIENTS)));
            if (slots.size() > SLOTS) {
                slots.removeFirst();
            }
        }
        count(counts.denied().since(denied), slots.getLast().denied);
        return now.minus(before);
    }

    /** Where more were denied than are kept, each of those that are kept stands for several. */
    private void count(DeniedClients.Look look, HeavyHitters hitters) {
        Map<String, Long> looked = new HashMap<>();
        look.clients().forEach(client -> looked.merge(client, 1L, Long::sum));
        long all = look.added() - denied;
        long kept = look.clients().size();
        looked.forEach((client, count) -> hitters.add(client, Math.max(1, count * all / kept)));
        denied = look.added();
    }

    List<InstanceStatus.Denied> clients(int most) {
        Map<String, Long> sums = new HashMap<>();
        for (Slot slot : slots) {
            slot.denied.top(MAX_CLIENTS).forEach(hitter -> sums.merge(hitter.name(), hitter.count(), Long::sum));
        }
        return sums.entrySet().stream()
                .map(entry -> new InstanceStatus.Denied(entry.getKey(), entry.getValue()))
                .sorted(Rank.CLIENTS)
                .limit(most)
                .toList();
    }

    List<InstanceStatus.OfPolicy> policies(int most) {
        Map<String, InstanceStatus.OfPolicy> byPolicy = new HashMap<>();
        sinceAMinute().decisions().forEach((kind, count) -> {
            InstanceStatus.OfPolicy one =
                    switch (kind.outcome()) {
                        case ALLOWED -> new InstanceStatus.OfPolicy(kind.policy(), count, 0, 0);
                        case DENIED -> new InstanceStatus.OfPolicy(kind.policy(), 0, count, 0);
                        case QUEUED -> new InstanceStatus.OfPolicy(kind.policy(), 0, 0, count);
                        case EXPIRED -> new InstanceStatus.OfPolicy(kind.policy(), 0, 0, 0); // it was queued before
                    };
            byPolicy.merge(kind.policy(), one, InstanceStatus.OfPolicy::plus);
        });
        return byPolicy.values().stream()
                .filter(policy -> policy.decided() > 0)
                .sorted(Rank.POLICIES)
                .limit(most)
                .toList();
    }

    /** How long the releases of a queue had waited. */
    Histogram.Reading waitsMs(String queue) {
        return sinceAMinute().waitsMs().entrySet().stream()
                .filter(entry -> entry.getKey().queue().equals(queue))
                .map(Map.Entry::getValue)
                .reduce(Histogram.Reading::plus)
                .orElse(null);
    }

    private CounterSnapshot sinceAMinute() {
        return now.minus(slots.getFirst().before);
    }

    /** Who comes first. */
    static final class Rank {

        static final Comparator<InstanceStatus.Denied> CLIENTS = Comparator.comparingLong(InstanceStatus.Denied::denied)
                .reversed()
                .thenComparing(InstanceStatus.Denied::client);

        static final Comparator<InstanceStatus.OfPolicy> POLICIES = Comparator.comparingLong(
                        InstanceStatus.OfPolicy::denied)
                .thenComparingLong(InstanceStatus.OfPolicy::decided)
                .reversed()
                .thenComparing(InstanceStatus.OfPolicy::policy);

        private Rank() {}
    }
}
