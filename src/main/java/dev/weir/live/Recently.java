package dev.weir.live;

import dev.weir.metrics.HeavyHitters;
import dev.weir.processor.DeniedClients;
import dev.weir.processor.LiveCounts;
import dev.weir.processor.Spread;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What was counted in the last minute, give or take ten seconds, and who was denied most. */
final class Recently {

    private static final int SLOTS = 6;
    private static final int SECONDS_A_SLOT = 10;
    private static final int MAX_CLIENTS = 1_000;

    private final LiveCounts counts;
    private final Deque<Slot> slots = new ArrayDeque<>();
    private Totals now;
    private long denied;
    private int seconds;

    /** What had been counted at its beginning, and who was denied in it. */
    private record Slot(Totals before, HeavyHitters denied) {}

    Recently(LiveCounts counts) {
        this.counts = counts;
        now = Totals.of(counts);
        slots.add(new Slot(now, new HeavyHitters(MAX_CLIENTS)));
    }

    /** A second has passed; what was counted in it. */
    Totals pass() {
        Totals before = now;
        now = Totals.of(counts);
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

    List<Glance.Denied> clients(int most) {
        Map<String, Long> sums = new HashMap<>();
        for (Slot slot : slots) {
            slot.denied.top(MAX_CLIENTS).forEach(hitter -> sums.merge(hitter.name(), hitter.count(), Long::sum));
        }
        return sums.entrySet().stream()
                .map(entry -> new Glance.Denied(entry.getKey(), entry.getValue()))
                .sorted(Rank.CLIENTS)
                .limit(most)
                .toList();
    }

    List<Glance.OfPolicy> policies(int most) {
        Map<String, Glance.OfPolicy> byPolicy = new HashMap<>();
        sinceAMinute().decisions().forEach((kind, count) -> {
            Glance.OfPolicy one =
                    switch (kind.outcome()) {
                        case ALLOWED -> new Glance.OfPolicy(kind.policy(), count, 0, 0);
                        case DENIED -> new Glance.OfPolicy(kind.policy(), 0, count, 0);
                        case QUEUED -> new Glance.OfPolicy(kind.policy(), 0, 0, count);
                        case EXPIRED -> new Glance.OfPolicy(kind.policy(), 0, 0, 0); // it was queued before
                    };
            byPolicy.merge(kind.policy(), one, Glance.OfPolicy::plus);
        });
        return byPolicy.values().stream()
                .filter(policy -> policy.decided() > 0)
                .sorted(Rank.POLICIES)
                .limit(most)
                .toList();
    }

    /** How long the releases of a queue had waited. */
    Spread.Reading waitsMs(String queue) {
        return sinceAMinute().waitsMs().entrySet().stream()
                .filter(entry -> entry.getKey().queue().equals(queue))
                .map(Map.Entry::getValue)
                .reduce(Spread.Reading::plus)
                .orElse(null);
    }

    private Totals sinceAMinute() {
        return now.minus(slots.getFirst().before);
    }

    /** Who comes first. */
    static final class Rank {

        static final Comparator<Glance.Denied> CLIENTS =
                Comparator.comparingLong(Glance.Denied::denied).reversed().thenComparing(Glance.Denied::client);

        static final Comparator<Glance.OfPolicy> POLICIES = Comparator.comparingLong(Glance.OfPolicy::denied)
                .thenComparingLong(Glance.OfPolicy::decided)
                .reversed()
                .thenComparing(Glance.OfPolicy::policy);

        private Rank() {}
    }
}
