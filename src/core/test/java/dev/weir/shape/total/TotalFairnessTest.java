package dev.weir.shape.total;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests who gets the capacity of a total: tiers, clients and keys by tokens, and higher priorities if it is full. */
class TotalFairnessTest {

    private static QueueRules rules(long totalLimit, long totalPerMs, long capacity, Map<String, TierShare> tiers) {
        QueueTotal total = new QueueTotal(totalLimit, totalPerMs, capacity);
        return QueueRules.builder("q", 1_000_000, 1_000)
                .burst(1_000_000)
                .capacity(1_000_000)
                .tiers(tiers)
                .key(List.of("k"))
                .total(total)
                .build();
    }

    /** Returns by how many tokens the services of two differ at most, in any interval. */
    private static long largestDifference(List<Release> inOrder, Function<Release, String> name, String a, String b) {
        long difference = 0;
        long least = 0;
        long most = 0;
        for (Release release : inOrder) {
            String of = name.apply(release);
            difference += of.equals(a) ? release.cost() : of.equals(b) ? -release.cost() : 0;
            least = Math.min(least, difference);
            most = Math.max(most, difference);
        }
        return most - least;
    }

    private static void assertFair(
            String context, List<Release> inOrder, Function<Release, String> name, Map<String, Long> largestCosts) {
        for (String a : largestCosts.keySet()) {
            for (String b : largestCosts.keySet()) {
                if (a.compareTo(b) < 0) {
                    assertThat(largestDifference(inOrder, name, a, b))
                            .as("%s: %s and %s", context, a, b)
                            .isLessThanOrEqualTo(largestCosts.get(a) + largestCosts.get(b));
                }
            }
        }
    }

    private static List<Release> inOrder(PartitionsHarness harness) {
        List<Release> inOrder = new ArrayList<>(harness.releases);
        inOrder.sort(Comparator.comparingLong(Release::releaseAtNanos));
        return inOrder;
    }

    /** The bound of start-time fair queueing (Goyal, Vin, Cheng, 1996), for weights of 1. */
    @Test
    void keys_of_a_client_and_clients_of_a_tier_share_the_tokens_evenly() {
        for (long seed = 0; seed < Effort.times(6); seed++) {
            Random random = new Random(seed);
            PartitionsHarness harness = new PartitionsHarness(seed, 1, 1, rules(100, 1_000, 1_000_000, Map.of()));
            Map<String, Long> byClient = new TreeMap<>();
            Map<String, Map<String, Long>> byKey = new TreeMap<>();
            for (int client = 0; client < 2 + random.nextInt(3); client++) {
                for (int key = 0; key < (client == 0 ? 20 : 1 + random.nextInt(3)); key++) {
                    int largest = 1 + random.nextInt(20);
                    for (long sent = 0; sent < 1_500; ) {
                        long cost = 1 + random.nextInt(largest);
                        harness.offer("k" + client + "-" + key, null, "c" + client, cost);
                        byClient.merge("c" + client, cost, Math::max);
                        byKey.computeIfAbsent("c" + client, name -> new TreeMap<>())
                                .merge("k" + client + "-" + key, cost, Math::max);
                        sent += cost;
                    }
                }
            }
            harness.run(10_000);
            List<Release> inOrder = inOrder(harness);
            assertThat(inOrder.stream().mapToLong(Release::cost).sum()).isGreaterThanOrEqualTo(950);
            assertFair("seed " + seed, inOrder, Release::client, byClient);
            for (Map<String, Long> keys : byKey.values()) {
                assertFair("seed " + seed, inOrder, release -> release.key().get("k"), keys);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void a_client_with_many_keys_gets_no_more_than_one_with_a_single_key(int partitions) {
        PartitionsHarness harness = new PartitionsHarness(1, partitions, 60, rules(200, 1_000, 1_000_000, Map.of()));
        for (int i = 0; i < 4_000; i++) {
            harness.offer("hog" + i % 20, null, "hog", 1);
            harness.offer("single", null, "single", 1);
        }
        harness.run(20_000);
        Map<String, Long> byClient = new HashMap<>();
        harness.releases.forEach(release -> byClient.merge(release.client(), release.cost(), Long::sum));
        assertThat((double) byClient.get("hog") / byClient.get("single")).isBetween(0.85, 1.15);
    }

    @Test
    void a_key_with_large_requests_gets_no_more_tokens_on_whichever_partition() {
        PartitionsHarness harness = new PartitionsHarness(1, 3, 60, rules(200, 1_000, 1_000_000, Map.of()));
        for (int i = 0; i < 2_000; i++) {
            for (int key = 0; key < 12; key++) {
                harness.offer("k" + key, null, key < 4 ? 10 : 1);
            }
        }
        harness.run(30_000);
        Map<String, Long> byKey = new TreeMap<>();
        harness.releases.forEach(release -> byKey.merge(release.key().get("k"), release.cost(), Long::sum));
        assertThat(byKey).hasSize(12).allSatisfy((key, tokens) -> assertThat(tokens)
                .isBetween(400L, 600L));
    }

    /** A request is denied only if as many of its own or a higher priority wait as the total has room for. */
    @ParameterizedTest
    @ValueSource(ints = {2, 1_000})
    void a_full_total_evicts_lower_priorities(int hotKeys) {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(2, 1), "silver", new TierShare(1, 3), "low", new TierShare(-1, 1));
        for (long seed = 0; seed < Effort.times(10); seed++) {
            Random random = new Random(seed);
            int capacity = 5 + random.nextInt(20);
            PartitionsHarness harness =
                    new PartitionsHarness(seed, 1, 1, rules(1, 2_000_000, capacity, tiers), hotKeys);
            Map<String, String> waiting = new HashMap<>(); // tiers by request
            int seenDecisions = 0;
            int seenReleases = 0;
            int evicted = 0;
            for (int i = 0; i < 200; i++) {
                String tier = List.of("gold", "silver", "free", "low").get(random.nextInt(i < 60 ? 4 : 3));
                String id = "r" + harness.requests;
                long rivals = waiting.values().stream()
                        .filter(other -> priority(tiers, other) >= priority(tiers, tier))
                        .count();
                harness.offer("k" + random.nextInt(8), tier, 1);
                for (Decision decision : harness.decisions.subList(seenDecisions, harness.decisions.size())) {
                    if (decision.outcome() == Outcome.QUEUED) {
                        waiting.put(decision.requestId(), tier);
                    } else if (decision.reason() == Reason.EVICTED) {
                        evicted++;
                        assertThat(decision.limitedBy()).isEqualTo("total.capacity");
                        String lost = waiting.remove(decision.requestId());
                        assertThat(priority(tiers, lost)).as("seed %d", seed).isLessThan(priority(tiers, tier));
                    }
                }
                seenDecisions = harness.decisions.size();
                assertThat(waiting.containsKey(id))
                        .as("seed %d, request %d of %s: %d of its priority or higher wait", seed, i, tier, rivals)
                        .isEqualTo(rivals < capacity);
                assertThat(waiting.size()).as("seed %d", seed).isLessThanOrEqualTo(capacity);
                harness.run(random.nextInt(2) * 20);
                harness.releases
                        .subList(seenReleases, harness.releases.size())
                        .forEach(release -> waiting.remove(release.requestId()));
                seenReleases = harness.releases.size();
                seenDecisions = harness.decisions.size();
            }
            assertThat(evicted).isPositive();
        }
    }

    private static int priority(Map<String, TierShare> tiers, String tier) {
        return tiers.getOrDefault(tier, TierShare.DEFAULT).priority();
    }
}
