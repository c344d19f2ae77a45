package dev.weir.shape.total;

import static dev.weir.shape.QueueHarness.MS;
import static dev.weir.shape.total.PartitionsHarness.T0;
import static dev.weir.shape.total.PartitionsHarness.rules;
import static dev.weir.shape.total.PartitionsHarness.total;
import static dev.weir.shape.total.PartitionsHarness.withTotal;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests more keys that wait for a total than fit on the heap. */
class KeysOffHeapTest {

    /** Fifty times as many keys contend as fit on the heap. */
    @Test
    void keys_that_wait_for_the_total_are_bounded_on_the_heap_and_keep_their_order() {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        PartitionsHarness harness = new PartitionsHarness(1, 2, 60, rules(20, total(200), tiers), 20);
        for (int i = 0; i < 3_000; i++) {
            harness.offer("s" + i % 1_000, "silver", 1);
            harness.offer("b" + i % 1_000, "bronze", 1);
        }
        harness.run(5_000);
        double share = (double) harness.released("silver") / harness.released("bronze");
        assertThat(share).isBetween(2.7, 3.3);
        for (int i = 0; i < 400; i++) {
            harness.offer("g" + i % 200, "gold", 1);
        }
        harness.restart(1);
        harness.run(3_500);
        assertThat(harness.released("gold")).isEqualTo(400);
        assertThat(harness.releasedBetween(6_000, 7_000)).isEqualTo(goldBetween(harness, 6_000, 7_000));
        harness.run(30_000);
        assertThat(harness.releases).hasSize(6_400);
        assertThat(harness.releasedBetween(2_000, 32_000)).isGreaterThanOrEqualTo(30 * 200 * 97 / 100);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(harness.mostHot).isBetween(20L, 23L);
        assertThat(harness.saved).allSatisfy(states -> assertThat(states).isEmpty());
        assertThat(harness.timers)
                .allSatisfy(timers -> assertThat(timers.entries).isEmpty());
        for (String tier : List.of("silver", "bronze")) {
            assertTurns(harness.releases.stream()
                    .filter(release -> release.tier().equals(tier))
                    .toList());
        }
    }

    private static long goldBetween(PartitionsHarness harness, long fromMs, long untilMs) {
        return harness.releases.stream()
                .filter(release -> release.tier().equals("gold"))
                .filter(release -> release.releaseAtNanos() >= (T0 + fromMs) * MS)
                .filter(release -> release.releaseAtNanos() < (T0 + untilMs) * MS)
                .count();
    }

    /** Of three releases of each key, the first ones of all keys precede the third ones. */
    private static void assertTurns(List<Release> inOrder) {
        Map<Map<String, String>, Integer> seen = new HashMap<>();
        int thirds = 0;
        for (Release release : inOrder) {
            int times = seen.merge(release.key(), 1, Integer::sum);
            assertThat(times == 1 && thirds > 0)
                    .as("%s is first released after %d keys were released three times", release.key(), thirds)
                    .isFalse();
            thirds += times == 3 ? 1 : 0;
        }
    }

    @Test
    void a_request_expires_in_time_in_a_key_that_waits_for_the_total_off_the_heap() {
        QueueRules rules = QueueRules.builder("q", 20, 1_000)
                .capacity(100)
                .maxWaitMs(2_000)
                .key(List.of("k"))
                .total(total(10))
                .build();
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules, 5);
        for (int i = 0; i < 300; i++) {
            harness.offer("k" + i, i % 2 == 0 ? "free" : "paid", 1);
        }
        harness.run(2_200);
        assertThat(harness.mostHot).isLessThanOrEqualTo(7);
        List<Decision> ends =
                harness.decisions.stream().filter(Decision::endsWait).toList();
        assertThat(ends).hasSizeGreaterThan(270).allSatisfy(end -> assertThat(end.decidedAtMs())
                .isBetween(T0 + 2_000, T0 + 2_150));
        assertThat(ends.size() + harness.releases.size()).isEqualTo(300);
    }

    /** The clock of the broker was an hour ahead while all requests arrived. */
    @Test
    void time_is_set_back_for_keys_that_wait_for_the_total_off_the_heap_too() {
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules(1, total(20), Map.of()), 5);
        harness.aheadMs.put(0, 3_600_000L);
        for (int i = 0; i < 600; i++) {
            harness.offer("k" + i % 200, i % 2 == 0 ? "free" : "paid", 1);
        }
        harness.run(3_000);
        harness.aheadMs.put(0, 0L);
        harness.carryOut(0, harness.shapers.get(0).stepBack(harness.nowMs * MS));
        harness.releases.clear();
        harness.run(40_000);
        long since = harness.releases.stream()
                .filter(release -> release.releaseAtNanos() < (T0 + 60_000) * MS)
                .count();
        assertThat(since).isGreaterThan(500);
        assertThat(harness.releases).hasSize((int) since);
        assertThat(harness.saved).allSatisfy(states -> assertThat(states).isEmpty());
    }

    @Test
    void a_changed_rate_and_the_end_of_the_total_reach_keys_that_wait_for_the_total_off_the_heap() {
        PartitionsHarness harness = new PartitionsHarness(1, 1, 1, rules(20, total(10), Map.of()), 5);
        for (int i = 0; i < 200; i++) {
            harness.offer("k" + i, i % 2 == 0 ? "free" : "paid", 1);
        }
        harness.run(2_000);
        harness.rules = withTotal(rules(100, null, Map.of("paid", new TierShare(1, 1))), 2, total(20));
        harness.carryOut(0, harness.shapers.get(0).refresh(harness.nowMs * MS));
        harness.run(2_000);
        assertThat(harness.releasedBetween(3_000, 4_000)).isBetween(19L, 20L);
        assertThat(harness.releases.subList(harness.releases.size() - 20, harness.releases.size()))
                .allMatch(release -> release.tier().equals("paid"));
        harness.rules = withTotal(harness.rules, 3, null);
        harness.carryOut(0, harness.shapers.get(0).refresh(harness.nowMs * MS));
        harness.run(200);
        assertThat(harness.releases).hasSize(200);
    }
}
