package dev.weir.shape.fair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Tests the bound of {@link MinShares} for random tiers, and that priorities alone exceed it. */
class MinSharesTest {

    private static final int SEEDS = Effort.times(20);

    /** Tiers whose requests arrive at random and leave in the order of a scheduler. */
    private static final class Queue {
        final Random random;
        final Map<String, TierShare> shares = new LinkedHashMap<>();
        final Map<String, Deque<Long>> waiting = new TreeMap<>();
        final Map<String, Long> leastMissing = new HashMap<>();
        final Map<String, Long> served = new HashMap<>();
        final boolean hasMinShares;
        final long largest;
        FairScheduler scheduler;
        long total;
        String violation;

        Queue(long seed, boolean hasMinShares) {
            this.hasMinShares = hasMinShares;
            random = new Random(seed);
            largest = 1 + random.nextInt(60);
            shares.put("t0", new TierShare(1, 1));
            int left = 100;
            for (int tier = 1; tier < 2 + random.nextInt(5); tier++) {
                int percent = Math.min(left, random.nextInt(40));
                left -= percent;
                shares.put("t" + tier, new TierShare(-random.nextInt(3), 1 + random.nextInt(5), percent));
            }
            scheduler = newScheduler();
        }

        private FairScheduler newScheduler() {
            Map<String, TierShare> ofScheduler = new HashMap<>(shares);
            if (!hasMinShares) {
                ofScheduler.replaceAll((tier, share) -> share.withMinPercent(0));
            }
            return new FairScheduler(ofScheduler);
        }

        Queue run() {
            for (int step = 0; step < 5_000 && violation == null; step++) {
                shares.keySet().forEach(this::offer);
                serve();
                if (random.nextInt(50) == 0) {
                    restart();
                }
            }
            return this;
        }

        /** The first tier has the highest priority and always waits. */
        private void offer(String tier) {
            Deque<Long> requests = waiting.computeIfAbsent(tier, none -> new ArrayDeque<>());
            boolean isFirst = tier.equals("t0");
            if (requests.size() >= 2 || !isFirst && random.nextInt(20) > 0) {
                return;
            }
            for (int n = 0; n < (isFirst ? 2 : random.nextInt(100)); n++) {
                requests.add((long) random.nextInt((int) largest + 1));
                if (requests.size() == 1) {
                    scheduler.enter(new Flow(tier, "c"), requests.element());
                    leastMissing.put(tier, missing(tier));
                }
            }
        }

        private void serve() {
            Flow flow = scheduler.next().orElseThrow();
            String tier = flow.tier();
            long cost = waiting.get(tier).remove();
            scheduler.served(flow, cost, !waiting.get(tier).isEmpty());
            served.merge(tier, cost, Long::sum);
            total += cost;
            if (waiting.get(tier).isEmpty()) {
                leastMissing.remove(tier);
            }
            leastMissing.replaceAll((each, least) -> {
                long missing = missing(each);
                check(each, missing - least);
                return Math.min(least, missing);
            });
        }

        /** Returns by how much the service of a tier is behind its share, in hundredths. */
        private long missing(String tier) {
            return shares.get(tier).minPercent() * total - 100 * served.getOrDefault(tier, 0L);
        }

        private void check(String tier, long missing) {
            long tiers = shares.values().stream()
                    .filter(share -> share.minPercent() > 0)
                    .count();
            long bound = 100 * (tiers + 1) * largest;
            if (violation == null && missing > bound) {
                violation = tier + " is behind by " + missing + ", which is more than " + bound;
            }
        }

        private void restart() {
            FlowOrder state = scheduler.state();
            scheduler = newScheduler();
            List<Flow> flows = new ArrayList<>();
            waiting.forEach((tier, requests) -> {
                if (!requests.isEmpty()) {
                    flows.add(new Flow(tier, "c"));
                }
            });
            scheduler.restore(state, flows);
        }
    }

    private static List<String> violations(boolean hasMinShares) {
        List<String> violations = new ArrayList<>();
        for (int seed = 0; seed < SEEDS; seed++) {
            Queue queue = new Queue(seed, hasMinShares).run();
            if (queue.violation != null) {
                violations.add("seed " + seed + ": " + queue.violation);
            }
        }
        return violations;
    }

    @Test
    void a_tier_gets_its_least_share_while_it_waits() {
        assertThat(violations(true)).isEmpty();
        assertThat(violations(false)).hasSizeGreaterThan(SEEDS / 2);
    }

    /** Shares of 5 and 10 percent under permanent load of a higher priority, after 1,000 requests of cost 1. */
    @Test
    void higher_priorities_get_the_rest() {
        FairScheduler scheduler = new FairScheduler(
                Map.of("gold", new TierShare(1, 1), "free", new TierShare(0, 1, 5), "late", new TierShare(-1, 1, 10)));
        List.of("late", "free", "gold", "other").forEach(tier -> scheduler.enter(new Flow(tier, "c"), 1));
        Map<String, Integer> served = new TreeMap<>();
        for (int n = 0; n < 1_000; n++) {
            Flow next = scheduler.next().orElseThrow();
            scheduler.served(next, 1, true);
            served.merge(next.tier(), 1, Integer::sum);
        }
        assertThat(served).isEqualTo(Map.of("gold", 850, "free", 50, "late", 100));
    }

    /** A tier that gets more than its share anyway does not get less than others afterwards. */
    @Test
    void what_a_tier_got_beyond_its_share_does_not_count_against_it() {
        FairScheduler scheduler =
                new FairScheduler(Map.of("gold", new TierShare(1, 1), "free", new TierShare(0, 1, 10)));
        Flow free = new Flow("free", "c");
        Flow other = new Flow("other", "c");
        scheduler.enter(free, 1);
        scheduler.enter(other, 1);
        for (int n = 0; n < 1_000; n++) {
            scheduler.served(scheduler.next().orElseThrow(), 1, true);
        }
        scheduler.enter(new Flow("gold", "c"), 1);
        int ofFree = 0;
        for (int n = 0; n < 100; n++) {
            Flow next = scheduler.next().orElseThrow();
            scheduler.served(next, 1, true);
            ofFree += next.equals(free) ? 1 : 0;
        }
        assertThat(ofFree).isBetween(9, 10);
    }
}
