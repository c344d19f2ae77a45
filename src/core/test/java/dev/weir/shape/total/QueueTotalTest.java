package dev.weir.shape.total;

import static dev.weir.shape.QueueHarness.MS;
import static dev.weir.shape.total.PartitionsHarness.T0;
import static dev.weir.shape.total.PartitionsHarness.rules;
import static dev.weir.shape.total.PartitionsHarness.total;
import static dev.weir.shape.total.PartitionsHarness.withTotal;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.QueueHarness;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.rules.TotalRate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests a queue with a total, on one or several partitions. */
@Tag("slow")
class QueueTotalTest {

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 12})
    void all_keys_together_use_the_total_but_never_exceed_it(int partitions) {
        for (long seed = 0; seed < 4; seed++) {
            int delayMs = partitions == 1 ? 1 : 60 + 60 * (int) seed;
            PartitionsHarness harness =
                    new PartitionsHarness(seed, partitions, delayMs, rules(20, total(200), Map.of()));
            for (int i = 0; i < 12_000; i++) {
                harness.offer("k" + harness.random.nextInt(60), null, 1);
            }
            harness.run(12_000);
            assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(200);
            assertThat(harness.releasedBetween(2_000, 12_000))
                    .as("seed %d, in 10 s of 200/s", seed)
                    .isBetween(1_950L, 2_000L);
        }
    }

    @Test
    void a_partition_forgets_what_waited_elsewhere_once_it_is_not_told_any_more() {
        QueueTotal few = new QueueTotal(100, 1_000, 50);
        PartitionsHarness harness = new PartitionsHarness(1, 2, 50, rules(10, few, Map.of()));
        for (int i = 0; i < 50; i++) {
            harness.offer("k0", null, 1);
        }
        harness.offer("k1", null, 1); // on the other partition, which knows of nothing else yet
        harness.run(1_000);
        harness.offer("k1", null, 1);
        assertThat(harness.decisions.get(51).outcome()).isEqualTo(Outcome.QUEUED);
        harness.run(10_000);
        assertThat(harness.releases).hasSize(52);
        harness.offer("k1", null, 1);
        assertThat(harness.decisions.get(52).outcome()).isEqualTo(Outcome.QUEUED);
    }

    @Test
    void a_partition_without_time_is_told_what_waits_elsewhere() {
        QueueTotal few = new QueueTotal(10, 1_000, 200);
        PartitionsHarness harness =
                new PartitionsHarness(1, 2, 50, rules(100, few, Map.of("gold", new TierShare(1, 1))));
        for (int i = 0; i < 190; i++) {
            harness.offer("k0", "gold", 1);
        }
        harness.run(500);
        for (int i = 0; i < 20; i++) {
            harness.offer("k1", "silver", 1); // on the other partition, which gets no time as long as gold waits
            harness.run(200);
        }
        assertThat(harness.decisions.subList(190, harness.decisions.size()))
                .filteredOn(decision -> decision.outcome() == Outcome.QUEUED)
                .hasSizeLessThanOrEqualTo(60);
        for (int i = 0; i < 150; i++) {
            harness.offer("k1", "silver", 1);
        }
        assertThat(harness.decisions.get(harness.decisions.size() - 1).reason()).isEqualTo(Reason.QUEUE_FULL);
    }

    @Test
    void a_faster_total_does_not_wait_for_what_was_leased_at_the_old_rate() {
        QueueTotal slow = new QueueTotal(1, 3_600_000, 1_000);
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules(100, slow, Map.of()));
        for (int i = 0; i < 20; i++) {
            harness.offer("k" + i, null, 1);
        }
        harness.run(2_000);
        assertThat(harness.releases).hasSize(1);
        harness.rules = withTotal(harness.rules, 2, total(100));
        harness.refresh();
        harness.run(2_000);
        assertThat(harness.releases).hasSize(20);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(100);
        assertThat(harness.releases.get(0).pace()).isEqualTo(new Release.Pace(10 * MS, 3_600_000 * MS));
        assertThat(harness.releases.subList(1, 20))
                .extracting(Release::pace)
                .containsOnly(new Release.Pace(10 * MS, 10 * MS));
    }

    @Test
    void a_request_of_cost_0_leaves_while_other_partitions_use_the_total() {
        PartitionsHarness harness = new PartitionsHarness(1, 2, 60, rules(100, total(10), Map.of()));
        for (int i = 0; i < 500; i++) {
            harness.offer("k1", null, 1); // on one partition with k3, k0 on the other
            harness.offer("k3", null, 1);
        }
        harness.run(2_000);
        harness.offer("k0", null, 0);
        harness.run(5_000);
        assertThat(harness.releases).extracting(Release::cost).contains(0L);
    }

    @Test
    void higher_priorities_go_first_and_weights_are_kept_across_partitions() {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        PartitionsHarness harness = new PartitionsHarness(1, 8, 150, rules(50, total(1_000), tiers));
        for (int key = 0; key < 40; key++) {
            for (int i = 0; i < 2_000; i++) {
                harness.offer("silver" + key, "silver", 1);
                harness.offer("bronze" + key, "bronze", 1);
            }
        }
        harness.run(6_000);
        double share = (double) harness.released("silver") / harness.released("bronze");
        assertThat(share).isBetween(2.7, 3.3);
        long begun = harness.nowMs - T0;
        for (int key = 0; key < 40; key++) {
            for (int i = 0; i < 400; i++) {
                harness.offer("gold" + key, "gold", 1);
            }
        }
        harness.run(5_000);
        long afterTerm = begun + 1_000;
        long gold = harness.releases.stream()
                .filter(release -> "gold".equals(release.tier()))
                .filter(release -> release.releaseAtNanos() >= (T0 + afterTerm) * MS)
                .filter(release -> release.releaseAtNanos() < (T0 + afterTerm + 4_000) * MS)
                .count();
        assertThat(gold)
                .as("of what was released from a second after gold arrived")
                .isGreaterThanOrEqualTo(harness.releasedBetween(afterTerm, afterTerm + 4_000) * 98 / 100);
    }

    @Test
    void inside_a_partition_the_order_is_exact() {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules(1_000, total(10), tiers));
        for (int key = 0; key < 3; key++) {
            for (int i = 0; i < 20; i++) {
                harness.offer("g" + key, "gold", 1);
                harness.offer("s" + key, "silver", 1);
                harness.offer("b" + key, "bronze", 1);
            }
        }
        harness.run(16_000);
        List<String> order = harness.releases.stream().map(Release::tier).toList();
        assertThat(order.subList(0, 60)).containsOnly("gold");
        for (int i = 60; i + 4 <= 140; i += 4) {
            assertThat(order.subList(i, i + 4)).containsExactlyInAnyOrder("silver", "silver", "silver", "bronze");
        }
        List<String> goldKeys = harness.releases.subList(0, 60).stream()
                .map(release -> release.key().get("k"))
                .toList();
        for (int i = 0; i + 3 <= 60; i += 3) {
            assertThat(goldKeys.subList(i, i + 3)).containsExactlyInAnyOrder("g0", "g1", "g2");
        }
    }

    @Test
    void a_tier_of_one_key_keeps_its_weight() {
        Map<String, TierShare> tiers = Map.of("silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules(1_000, total(10), tiers));
        for (int i = 0; i < 100; i++) {
            harness.offer("s", "silver", 1);
            harness.offer("b", "bronze", 1);
        }
        harness.run(12_000);
        List<String> order = harness.releases.stream().map(Release::tier).toList();
        for (int i = 0; i + 4 <= 100; i += 4) {
            assertThat(order.subList(i, i + 4)).containsExactlyInAnyOrder("silver", "silver", "silver", "bronze");
        }
    }

    @Test
    void the_keys_of_a_tier_get_the_same_on_whichever_partition() {
        PartitionsHarness harness = new PartitionsHarness(1, 4, 120, rules(50, total(200), Map.of()));
        for (int key = 0; key < 50; key++) {
            for (int i = 0; i < 1_000; i++) {
                harness.offer("key-" + key * key, null, 1);
            }
        }
        harness.run(20_000);
        Map<String, Long> byKey = new TreeMap<>();
        harness.releases.forEach(release -> byKey.merge(release.key().get("k"), 1L, Long::sum));
        assertThat(byKey).hasSize(50);
        assertThat(byKey.values()).allSatisfy(count -> assertThat(count).isBetween(72L, 88L));
    }

    @Test
    void if_the_total_does_not_bind_each_key_keeps_its_own_pace() {
        PartitionsHarness harness = new PartitionsHarness(1, 4, 100, rules(5, total(2_000), Map.of()));
        for (int key = 0; key < 100; key++) {
            for (int i = 0; i < 50; i++) {
                harness.offer("k" + key, null, 1);
            }
        }
        harness.run(12_000);
        assertThat(harness.releases).hasSize(5_000);
        assertThat(harness.releasedBetween(1_000, 9_000)).isGreaterThanOrEqualTo(8 * 100 * 5 * 97 / 100);
    }

    @Test
    void a_change_of_the_total_applies_to_waiting_requests() {
        PartitionsHarness harness = new PartitionsHarness(1, 3, 50, rules(100, total(100), Map.of()));
        for (int i = 0; i < 9_000; i++) {
            harness.offer("k" + i % 30, null, 1);
        }
        harness.run(3_000);
        harness.rules = withTotal(harness.rules, 2, total(300));
        harness.refresh();
        harness.run(3_000);
        assertThat(harness.releasedBetween(4_000, 6_000)).isBetween(590L, 600L);
        harness.rules = withTotal(harness.rules, 3, total(50));
        harness.refresh();
        harness.run(3_000);
        assertThat(harness.releasedBetween(7_000, 9_000)).isBetween(95L, 100L);
        harness.rules = withTotal(harness.rules, 4, null);
        harness.refresh();
        harness.run(1_100);
        assertThat(harness.releasedBetween(9_000, 10_000))
                .as("each key at its own pace")
                .isBetween(2_900L, 3_100L);
    }

    @Test
    void waiting_requests_of_a_deleted_queue_are_released_by_its_last_total() {
        PartitionsHarness harness = new PartitionsHarness(1, 3, 50, rules(100, total(100), Map.of()));
        for (int i = 0; i < 900; i++) {
            harness.offer("k" + i % 30, null, 1);
        }
        harness.run(1_000);
        harness.rules = null;
        harness.refresh();
        harness.restart(0);
        harness.run(10_000);
        assertThat(harness.releases).hasSize(900);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(100);
    }

    @Test
    void all_keys_together_have_a_capacity() {
        QueueTotal small = new QueueTotal(10, 1_000, 20);
        PartitionsHarness harness = new PartitionsHarness(1, 2, 10, rules(1, small, Map.of()));
        for (int i = 0; i < 15; i++) {
            harness.offer("a" + i, null, 1);
        }
        harness.run(300);
        long before = harness.decisions.size();
        for (int i = 0; i < 30; i++) {
            harness.offer("b" + i, null, 1);
        }
        List<Decision> later = harness.decisions.subList((int) before, harness.decisions.size());
        assertThat(later).anySatisfy(decision -> {
            assertThat(decision.reason()).isEqualTo(Reason.QUEUE_FULL);
            assertThat(decision.limitedBy()).isEqualTo("total.capacity");
            assertThat(decision.limit()).isEqualTo(20);
            assertThat(decision.retryAfterMs()).isPositive();
        });
        assertThat(later.stream()
                        .filter(decision -> decision.reason() == Reason.SHAPED)
                        .count())
                .as("simultaneous arrivals on two partitions may exceed it by as much as there was room")
                .isBetween(5L, 20L);
    }

    @Test
    void nothing_is_left_when_nothing_waits() {
        PartitionsHarness harness = new PartitionsHarness(1, 3, 50, rules(100, total(100), Map.of()));
        for (int i = 0; i < 90; i++) {
            harness.offer("k" + i, null, 1);
        }
        harness.run(10_000);
        assertThat(harness.releases).hasSize(90);
        assertThat(harness.saved).allSatisfy(states -> assertThat(states).isEmpty());
        assertThat(harness.ledgers).allSatisfy(states -> assertThat(states).isEmpty());
        assertThat(harness.shapers).allSatisfy(shaper -> {
            assertThat(shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
            assertThat(shaper.needsTime()).isFalse();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 6})
    void requests_of_different_costs_use_the_whole_total(int partitions) {
        PartitionsHarness harness = new PartitionsHarness(1, partitions, 120, rules(200, total(1_000), Map.of()));
        for (int i = 0; i < 6_000; i++) {
            harness.offer("k" + i % 60, null, 1 + i % 10);
        }
        harness.run(12_000);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(1_000 + 9);
        assertThat(harness.releasedBetween(2_000, 12_000)).isGreaterThanOrEqualTo(10_000 * 95 / 100);
    }

    @Test
    void a_few_large_requests_are_released_although_time_for_single_tokens_is_available() {
        PartitionsHarness harness = new PartitionsHarness(1, 4, 60, rules(20, total(150), Map.of()));
        for (int i = 0; i < 12; i++) {
            harness.offer("k" + i, null, 1);
            harness.offer("k" + i, null, 5);
        }
        harness.run(3_000);
        assertThat(harness.releases).hasSize(24);
    }

    @Test
    void a_request_that_takes_longer_than_the_look_ahead_of_grants_is_released() {
        PartitionsHarness harness = new PartitionsHarness(1, 3, 100, rules(10_000, total(10), Map.of()));
        for (int i = 0; i < 9; i++) {
            harness.offer("k" + i, null, 40);
        }
        harness.run(40_000);
        assertThat(harness.releases).hasSize(9);
        assertThat(harness.most(4_000 * MS)).as("each takes 4 s").isEqualTo(40);
    }

    @Test
    void a_request_that_takes_more_than_an_hour_of_the_total_is_denied() {
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules(1_000, total(10), Map.of()));
        harness.offer("k", null, 36_000);
        harness.offer("k", null, 36_001);
        assertThat(harness.decisions)
                .extracting(Decision::reason)
                .containsExactly(Reason.SHAPED, Reason.COST_NEVER_FITS);
    }

    @Test
    void a_queue_with_a_total_is_served_beside_one_that_could_use_every_tick() {
        QueueRules busy = QueueHarness.rules(1_000_000, 1_000, 1_000_000, 1_000_000, QueueRules.NO_MAX_WAIT);
        QueueRules paced = rules(1_000, total(1_000), Map.of());
        QueueHarness harness = new QueueHarness(busy);
        harness.rules.put("paced", withId(paced));
        for (int i = 0; i < 20_000; i++) {
            harness.offer("busy" + i, "c", null, 1, null, 0);
        }
        for (int i = 0; i < 50; i++) {
            harness.send(toPaced("paced" + i, "k" + i), 0);
        }
        for (int i = 0; i < 60; i++) {
            harness.carryOut(harness.shaper.tick(i * 10 * MS, 100));
        }
        assertThat(harness.releases)
                .filteredOn(release -> release.queue().equals("paced"))
                .hasSize(50);
    }

    private static QueueRules withId(QueueRules rules) {
        return rules.toBuilder().id("paced").version(1).build();
    }

    private static Admission toPaced(String id, String key) {
        Request.Source source = new Request.Source(0, 0);
        Request request = Request.builder(id, "c")
                .attributes(Map.of("k", key))
                .source(source)
                .build();
        return Admission.of(request, "paced", new PolicyVersion("p", 1), null).withKey(Map.of("k", key));
    }

    @Test
    void a_report_without_waiting_requests_cancels_earlier_demand() {
        TotalLedger ledger = new TotalLedger("q", LedgerState.fresh(0));
        QueueRules rules = rules(10, total(10), Map.of());
        List<TotalReport.Demand> demands =
                List.of(new TotalReport.Demand("gold", 1, List.of(), 1, 1, List.of(new TotalReport.Step(0, 5))));
        ledger.report(
                new TotalReport(
                        new QueuePartition("q", 3), new TotalRate(10, 1_000), 0, 5, 0, Optional.empty(), demands),
                rules,
                0);
        ledger.report(
                new TotalReport(
                        new QueuePartition("q", 3), new TotalRate(10, 1_000), 0, 0, 0, Optional.empty(), demands),
                rules,
                MS);
        assertThat(ledger.grant(2 * MS)).isEmpty();
        assertThat(ledger.isIdle(2 * MS)).isTrue();
    }

    @Test
    void many_tiers_are_reported_together() {
        Contenders contenders = new Contenders(Map.of("gold", new TierShare(1, 1)));
        for (int i = 0; i < 1_000; i++) {
            Flow flow = new Flow("tier" + i, "c");
            contenders.put(new BucketId("q", List.of("k", "" + i)), new Contenders.Contender(flow, 0, 1 + i, 10, 10));
        }
        contenders.put(
                new BucketId("q", List.of("k", "gold")), new Contenders.Contender(new Flow("gold", "c"), 0, 7, 10, 10));
        Pacing pacing = Pacing.of(10, 1_000, 1);
        List<TotalReport.Demand> demands =
                contenders.demands(new DemandScope(pacing, Optional.of(pacing), OptionalLong.empty(), 0, 0));
        assertThat(demands).hasSize(TotalReport.MAX_DEMANDS);
        assertThat(demands.get(0))
                .isEqualTo(new TotalReport.Demand("gold", 1, List.of(), 7, 7, List.of(new TotalReport.Step(0, 10))));
        assertThat(demands.stream().mapToLong(TotalReport.Demand::clients).sum())
                .isEqualTo(1_001);
        assertThat(demands.stream().mapToLong(TotalReport.Demand::tokens).sum()).isEqualTo(10_010);
        assertThat(demands.get(TotalReport.MAX_DEMANDS - 1).largestCost()).isEqualTo(1_000);
    }
}
