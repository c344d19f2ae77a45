package dev.weir.shape.total;

import static dev.weir.shape.QueueHarness.MS;
import static dev.weir.shape.total.PartitionsHarness.rules;
import static dev.weir.shape.total.PartitionsHarness.total;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a total holds, and is used, although messages are late or lost, and partitions pause or restart. */
@Tag("slow")
class TotalDisturbancesTest {

    @Test
    void the_total_and_the_pace_of_keys_hold_despite_delays_losses_and_restarts() {
        for (long seed = 0; seed < Effort.times(4); seed++) {
            Random random = new Random(seed);
            int partitions = 1 + random.nextInt(6);
            Map<String, TierShare> tiers = Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3));
            QueueRules rules = QueueRules.builder("q", 5, 1_000)
                    .burst(2)
                    .capacity(50)
                    .maxWaitMs(4_000)
                    .lookAheadMs(random.nextInt(2) * 100)
                    .tiers(tiers)
                    .key(List.of("k"))
                    .total(total(100))
                    .build();
            PartitionsHarness harness =
                    new PartitionsHarness(seed, partitions, 1 + random.nextInt(400), rules, 1 + random.nextInt(20));
            harness.losesMessages = random.nextBoolean();
            long before = harness.requests;
            for (int step = 0; step < 400; step++) {
                for (int i = random.nextInt(12); i > 0; i--) {
                    String tier = List.of("gold", "silver", "free").get(random.nextInt(3));
                    harness.offer(
                            "k" + random.nextInt(40), tier, 1 + (random.nextInt(10) == 0 ? random.nextInt(4) : 0));
                }
                if (random.nextInt(80) == 0) {
                    harness.restart(random.nextInt(partitions));
                }
                harness.run(1 + random.nextInt(40));
            }
            harness.losesMessages = false;
            harness.run(20_000);
            // a request's cost counts at its start, so one at the end of the interval may extend beyond it
            assertThat(harness.most(1_000 * MS)).as("seed %d", seed).isLessThanOrEqualTo(100 + 3);
            assertThat(harness.most(100 * MS)).as("seed %d", seed).isLessThanOrEqualTo(10 + 3);
            Map<Map<String, String>, List<Release>> byKey = new HashMap<>();
            harness.releases.forEach(release -> byKey.computeIfAbsent(release.key(), key -> new ArrayList<>())
                    .add(release));
            byKey.forEach((key, all) -> assertPace(all, rules));
            long queued = harness.decisions.stream()
                    .filter(decision -> decision.reason() == Reason.SHAPED)
                    .count();
            long ended = harness.releases.size()
                    + harness.decisions.stream()
                            .filter(decision -> decision.endsWait())
                            .count();
            assertThat(ended)
                    .as("seed %d: of %d", seed, harness.requests - before)
                    .isEqualTo(queued);
        }
    }

    private static void assertPace(List<Release> ofKey, QueueRules rules) {
        Pacing pacing = rules.pacing();
        Pacing.Arrival arrival = pacing.fresh(Long.MIN_VALUE / 4);
        long last = Long.MIN_VALUE;
        for (Release release : ofKey) {
            assertThat(release.releaseAtNanos()).isGreaterThanOrEqualTo(last);
            last = release.releaseAtNanos();
            assertThat(pacing.earliestNanos(arrival, release.cost(), last)).isEqualTo(last);
            arrival = pacing.released(arrival, release.cost(), last);
        }
    }

    @Test
    void a_reopened_partition_gets_time_for_large_requests() {
        PartitionsHarness harness = new PartitionsHarness(1, 3, 60, rules(200, total(100), Map.of()));
        for (int i = 0; i < 600; i++) {
            harness.offer("k" + i % 30, null, 5);
            harness.offer("large", null, 9);
        }
        for (int i = 0; i < 30; i++) {
            harness.run(500);
            harness.restart(i % 3);
        }
        harness.run(2_000);
        long before = harness.releases.size();
        harness.run(10_000);
        assertThat(harness.releases.subList((int) before, harness.releases.size()))
                .anySatisfy(release -> assertThat(release.cost()).isEqualTo(9));
        assertThat(harness.releasedBetween(19_000, 26_000)).isGreaterThanOrEqualTo(700 * 95 / 100);
    }

    /** Returns backlogs on four partitions, of many keys each, with a total of 200 a second. */
    private static PartitionsHarness backlog(int maxDelayMs) {
        PartitionsHarness harness = new PartitionsHarness(1, 4, maxDelayMs, rules(50, total(200), Map.of()));
        for (int i = 0; i < 16_000; i++) {
            harness.offer("k" + i % 80, null, 1);
        }
        return harness;
    }

    @Test
    void a_paused_partition_does_not_block_the_others() {
        PartitionsHarness harness = backlog(100);
        harness.run(4_000);
        harness.paused.add(3);
        harness.run(10_000);
        harness.paused.clear();
        harness.run(10_000);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(harness.releasedBetween(8_000, 14_000)).isGreaterThanOrEqualTo(1_200 * 95 / 100);
        assertThat(harness.releasedBetween(14_000, 24_000))
                .as("after the partition resumes")
                .isGreaterThanOrEqualTo(2_000 * 95 / 100);
    }

    @Test
    void a_partition_that_is_opened_late_does_not_block_the_others() {
        PartitionsHarness harness = backlog(100);
        harness.run(4_000);
        harness.paused.add(3);
        harness.run(2_500);
        harness.restart(3);
        harness.paused.clear();
        harness.run(10_000);
        assertThat(harness.releasedBetween(6_500, 16_500)).isGreaterThanOrEqualTo(2_000 * 95 / 100);
    }

    @Test
    void a_total_is_used_fully_although_messages_take_seconds() {
        PartitionsHarness harness = backlog(500);
        harness.minDelayMs = 1_500;
        harness.run(30_000);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(harness.releasedBetween(15_000, 30_000)).isGreaterThanOrEqualTo(3_000 * 95 / 100);
    }

    @ParameterizedTest
    @ValueSource(longs = {-2_000, -300, 300, 2_000})
    void the_clocks_of_the_brokers_need_not_agree(long aheadMs) {
        PartitionsHarness harness = backlog(100);
        harness.aheadMs.put(0, aheadMs); // the ledger's partition
        harness.run(20_000);
        assertThat(harness.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(harness.releasedBetween(8_000, 18_000)).isGreaterThanOrEqualTo(2_000 * 95 / 100);
    }
}
