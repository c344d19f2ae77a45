package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static dev.weir.shape.QueueHarness.admission;
import static dev.weir.shape.QueueHarness.rules;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class LeakyBucketQueueTest {

    private static final long NO_MAX_WAIT = QueueRules.NO_MAX_WAIT;
    private static final TierShare HIGH = new TierShare(1, 1);
    private static final TierShare LOW = new TierShare(0, 1);

    private static QueueHarness harness(QueueRules rules) {
        return new QueueHarness(rules);
    }

    private static Decision last(QueueHarness queue) {
        return queue.decisions.get(queue.decisions.size() - 1);
    }

    @Test
    void a_burst_is_admitted_and_released_at_the_rate() {
        QueueHarness queue = harness(rules(100, 1_000, 1, 100, NO_MAX_WAIT));
        for (int i = 0; i < 4; i++) {
            Decision decision = queue.offer("r" + i, "c", null, 1_000);
            assertThat(decision.outcome()).isEqualTo(Outcome.QUEUED);
            assertThat(decision.reason()).isEqualTo(Reason.SHAPED);
            assertThat(decision.httpStatus()).isEqualTo(202);
            assertThat(decision.queueing()).isEqualTo(new Decision.Queueing("q", i + 1L, 10L * i));
        }
        queue.runDry();
        assertThat(queue.releases).extracting(Release::sequence).containsExactly(1L, 2L, 3L, 4L);
        assertThat(queue.releases).extracting(Release::waitMs).containsExactly(0L, 10L, 20L, 30L);
        assertThat(queue.takeReleases()).containsExactly("r0@1000", "r1@1010", "r2@1020", "r3@1030");
    }

    @Test
    void a_cost_of_three_takes_the_time_of_three_tokens_and_an_idle_hour_earns_no_more_than_the_burst() {
        QueueHarness queue = harness(rules(100, 1_000, 2, 100, NO_MAX_WAIT));
        queue.offer("big", "c", null, 3, null, 0);
        queue.offer("a", "c", null, 0);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("big@0", "a@20");
        for (int i = 0; i < 4; i++) {
            queue.offer("r" + i, "c", null, 3_600_000);
        }
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("r0@3600000", "r1@3600000", "r2@3600010", "r3@3600020");
    }

    @Test
    void a_release_has_the_time_that_its_cost_takes_of_the_rate_rounded_up() {
        QueueHarness queue = harness(rules(3, 1_000, 2, 100, NO_MAX_WAIT));
        queue.offer("r0", "c", null, 0, null, 0);
        queue.offer("r1", "c", null, 1, null, 0);
        queue.offer("r2", "c", null, 2, null, 0);
        queue.runDry();
        assertThat(queue.releases)
                .extracting(Release::pace)
                .containsExactly(Release.Pace.NONE, new Release.Pace(333_333_334, 0), new Release.Pace(666_666_667, 0));
    }

    @Test
    void a_higher_priority_is_released_first_and_clients_of_a_tier_take_turns() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT, "gold", HIGH, "free", LOW));
        queue.offer("f1", "a", "free", 0);
        queue.offer("f2", "a", "free", 0);
        queue.offer("f3", "b", "free", 0);
        Decision gold = queue.offer("g1", "c", "gold", 0);
        assertThat(gold.queueing()).isEqualTo(new Decision.Queueing("q", 1L, 0L));
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("g1@0", "f1@1000", "f3@2000", "f2@3000");
    }

    @Test
    void a_full_queue_denies_with_the_time_after_which_there_is_room() {
        QueueHarness queue = harness(rules(10, 1_000, 1, 2, NO_MAX_WAIT));
        queue.offer("a", "c", null, 0);
        queue.runUntil(0);
        queue.offer("b", "c", null, 10);
        queue.offer("c", "c", null, 10);
        Decision full = queue.offer("d", "c", null, 30);
        assertThat(full.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(full.reason()).isEqualTo(Reason.QUEUE_FULL);
        assertThat(full.httpStatus()).isEqualTo(503);
        assertThat(full.limitedBy()).isEqualTo("capacity");
        assertThat(full.limit()).isEqualTo(2);
        assertThat(full.retryAfterMs()).isEqualTo(71); // the release at 100 may be written after a request at 100
        queue.runUntil(99);
        assertThat(queue.offer("d", "c", null, 100).outcome()).isEqualTo(Outcome.DENIED);
        queue.runUntil(100);
        assertThat(queue.offer("d", "c", null, 101).outcome()).isEqualTo(Outcome.QUEUED);
    }

    @Test
    void a_higher_priority_evicts_the_newest_of_the_lowest() {
        QueueHarness queue = harness(rules(
                1, 1_000, 1, 3, NO_MAX_WAIT, "gold", new TierShare(2, 1), "free", LOW, "trial", new TierShare(-1, 1)));
        queue.offer("t1", "a", "trial", 0);
        queue.offer("t2", "b", "trial", 0);
        queue.offer("f1", "a", "free", 0);
        assertThat(queue.offer("t3", "c", "trial", 0).reason()).isEqualTo(Reason.QUEUE_FULL);
        assertThat(queue.offer("g1", "g", "gold", 0).outcome()).isEqualTo(Outcome.QUEUED);
        Decision evicted = queue.decisions.get(queue.decisions.size() - 2);
        assertThat(evicted.requestId()).isEqualTo("t2");
        assertThat(evicted.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(evicted.reason()).isEqualTo(Reason.EVICTED);
        assertThat(evicted.httpStatus()).isEqualTo(503);
        queue.offer("g2", "g", "gold", 0);
        queue.offer("g3", "g", "gold", 0);
        assertThat(queue.decisions)
                .filteredOn(d -> d.reason() == Reason.EVICTED)
                .extracting(Decision::requestId)
                .containsExactly("t2", "t1", "f1");
        assertThat(queue.offer("g4", "g", "gold", 0).reason()).isEqualTo(Reason.QUEUE_FULL);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("g1@0", "g2@1000", "g3@2000");
    }

    @Test
    void a_request_that_waits_too_long_expires_and_is_never_released() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, 2_500, "gold", HIGH, "free", LOW));
        queue.offer("f1", "a", "free", 0);
        queue.offer("f2", "a", "free", 0);
        queue.offer("f3", "b", "free", 0);
        queue.offer("g1", "g", "gold", 1, null, 0);
        queue.offer("g2", "g", "gold", 1, null, 0);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("g1@0", "g2@1000", "f1@2000");
        assertThat(queue.decisions)
                .filteredOn(d -> d.outcome() == Outcome.EXPIRED)
                .extracting(Decision::requestId, Decision::decidedAtMs, Decision::limitedBy)
                .containsExactlyInAnyOrder(
                        org.assertj.core.groups.Tuple.tuple("f2", 2_500L, "max-wait"),
                        org.assertj.core.groups.Tuple.tuple("f3", 2_500L, "max-wait"));
        assertThat(queue.stored.entries).isEmpty();
        assertThat(queue.tickets.entries).isEmpty();
    }

    @Test
    void a_request_may_be_released_at_its_deadline() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, 1_000));
        queue.offer("a", "c", null, 0);
        queue.offer("b", "c", null, 0);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("a@0", "b@1000");
    }

    @Test
    void a_request_that_cannot_meet_its_deadline_is_denied_at_once() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, 3_000));
        for (int i = 0; i < 4; i++) {
            assertThat(queue.offer("r" + i, "c", null, 0).outcome()).isEqualTo(Outcome.QUEUED);
        }
        Decision late = queue.offer("r4", "c", null, 0);
        assertThat(late.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(late.reason()).isEqualTo(Reason.TOO_LATE);
        assertThat(late.limitedBy()).isEqualTo("max-wait");
        assertThat(late.limit()).isEqualTo(3_000);
        assertThat(late.retryAfterMs()).isEqualTo(1_000);
        queue.runUntil(1_000);
        assertThat(queue.offer("r4", "c", null, 1_000).outcome()).isEqualTo(Outcome.QUEUED);
        Decision never = queue.offer("r6", "c", null, 1, 4_999L, 1_000);
        assertThat(never.reason()).isEqualTo(Reason.TOO_LATE);
        assertThat(never.limitedBy()).isEqualTo("max-wait");
        Decision dead = queue.offer("r7", "c", null, 1, 2_000L, 1_000);
        assertThat(dead.limitedBy()).isEqualTo("deadline");
        assertThat(dead.retryAfterMs()).isNull();
        Decision behindOne = queue.offer("r8", "d", null, 1, 2_999L, 1_000);
        assertThat(behindOne.reason()).isEqualTo(Reason.TOO_LATE);
        Decision intoTime = queue.offer("r9", "d", null, 1, 3_000L, 1_000);
        assertThat(intoTime.queueing()).isEqualTo(new Decision.Queueing("q", 2L, 2_000L));
    }

    @Test
    void a_cost_of_more_than_an_hours_outflow_is_denied() {
        QueueHarness queue = harness(rules(100, 1_000, 1, 100, NO_MAX_WAIT));
        assertThat(queue.offer("a", "c", null, 360_000, null, 0).outcome()).isEqualTo(Outcome.QUEUED);
        Decision never = queue.offer("b", "c", null, 360_001, null, 0);
        assertThat(never.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(never.reason()).isEqualTo(Reason.COST_NEVER_FITS);
        assertThat(never.limit()).isEqualTo(360_000);
        assertThat(never.retryAfterMs()).isNull();
        assertThat(rules(1, 3_600_000, 1, 100, NO_MAX_WAIT).maxCost()).isEqualTo(1_000);
        assertThat(rules(1, 86_400_000, 5_000, 100, NO_MAX_WAIT).maxCost()).isEqualTo(5_000);
        assertThat(rules(1L << 61, 1, 1, 100, NO_MAX_WAIT).maxCost()).isEqualTo(Long.MAX_VALUE);
        assertThat(rules(1L << 61, 2_592_000_000L, 1, 100, NO_MAX_WAIT).maxCost())
                .isEqualTo((1L << 61) / 720);
        assertThat(rules(1_000_000, 2_592_000_000L, 1, 100, NO_MAX_WAIT).maxCost())
                .isEqualTo(1_388);
        assertThat(rules(3_000, 2_400_000, 1, 100, NO_MAX_WAIT).maxCost()).isEqualTo(4_500);
        assertThat(rules(7, 7, 1, 100, NO_MAX_WAIT).maxCost()).isEqualTo(3_600_000); // not a whole number of windows
        assertThat(rules(1_000_000_007, 2_592_000_000L, 1, 100, NO_MAX_WAIT).maxCost())
                .isEqualTo(1_388_888); // and 0.9
    }

    @Test
    void a_request_denied_as_too_late_would_not_have_met_its_deadline() {
        int refused = 0;
        for (int seed = 0; seed < 600; seed++) {
            QueueHarness refusing = filled(seed);
            long deadlineMs = 2_000L + new Random(seed).nextInt(60_000);
            if (refusing.offer("last", "c1", "free", 1, deadlineMs, 2_000).outcome() == Outcome.DENIED) {
                refused++;
                QueueHarness patient = filled(seed);
                patient.offer("last", "c1", "free", 1, null, 2_000);
                patient.runDry();
                Release last = patient.releases.stream()
                        .filter(release -> release.requestId().equals("last"))
                        .findFirst()
                        .orElseThrow();
                assertThat(last.releaseAtNanos()).as("seed %d", seed).isGreaterThan(deadlineMs * MS);
            }
        }
        assertThat(refused).isGreaterThan(100);
    }

    /** Returns a queue with a random backlog of three tiers and costs of 1 to 10, two seconds old. */
    private static QueueHarness filled(int seed) {
        Random random = new Random(seed);
        QueueHarness queue = harness(
                rules(3, 1_000, 1, 1_000, NO_MAX_WAIT, "gold", HIGH, "silver", new TierShare(0, 4), "free", LOW));
        String[] tiers = {"gold", "silver", "free", "free"};
        for (int i = 0; i < 40; i++) {
            long nowMs = 50L * i;
            queue.runUntil(nowMs - 1);
            queue.offer(
                    "r" + i, "c" + random.nextInt(3), tiers[random.nextInt(4)], 1 + random.nextInt(10), null, nowMs);
        }
        queue.runUntil(2_000);
        return queue;
    }

    @Test
    void an_extremely_early_deadline_is_too_late() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        assertThat(queue.offer("a", "c", null, 1, Long.MIN_VALUE, 5).reason()).isEqualTo(Reason.TOO_LATE);
        assertThat(queue.offer("b", "c", null, 1, Long.MAX_VALUE, 5).outcome()).isEqualTo(Outcome.QUEUED);
    }

    @Test
    void a_request_that_is_due_too_late_expires_at_its_deadline() {
        QueueHarness queue = harness(QueueRules.builder("q", 1, 1_000)
                .capacity(100)
                .lookAheadMs(5_000)
                .build());
        queue.offer("a", "c", null, 0);
        queue.offer("b", "c", null, 1, 1_500L, 0);
        queue.rules.put(
                "q",
                QueueRules.builder("q", 1, 3_000)
                        .version(2)
                        .capacity(100)
                        .lookAheadMs(5_000)
                        .build());
        queue.offer("c", "c", null, 0);
        queue.carryOut(queue.shaper.tick(0, 1_000));
        assertThat(queue.decisions).extracting(Decision::outcome).containsOnly(Outcome.QUEUED);
        assertThat(queue.takeReleases()).containsExactly("a@0");
        assertThat(queue.shaper.dueNanos()).isEqualTo(1_500 * MS);
        queue.runDry();
        assertThat(last(queue).outcome()).isEqualTo(Outcome.EXPIRED);
        assertThat(last(queue).decidedAtMs()).isEqualTo(1_500);
        assertThat(queue.takeReleases()).containsExactly("c@3000");
    }

    @Test
    void a_slower_clock_makes_no_wait_negative() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        queue.offer("first", "c", null, 0);
        queue.runUntil(0);
        queue.releases.clear();
        queue.offer("a", "c", null, 10_000);
        queue.restart();
        queue.carryOut(queue.shaper.tick(9_000 * MS, 10));
        assertThat(queue.releases).extracting(Release::waitMs).containsExactly(0L);
    }

    @Test
    void deadlines_out_of_order_are_kept() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT, "gold", HIGH));
        for (int i = 0; i < 10; i++) {
            queue.offer("g" + i, "g", "gold", 0);
        }
        queue.offer("never", "c", null, 0);
        queue.offer("later", "c", null, 1, 13_000L, 0);
        queue.offer("soon", "c", null, 1, 12_250L, 0);
        queue.offer("last", "c", null, 0);
        queue.runUntil(999);
        for (int i = 10; i < 20; i++) {
            queue.offer("g" + i, "g", "gold", 1_000);
        }
        queue.runDry();
        assertThat(queue.decisions)
                .filteredOn(d -> d.outcome() == Outcome.EXPIRED)
                .extracting(Decision::requestId, Decision::decidedAtMs, Decision::limitedBy)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple("soon", 12_250L, "deadline"),
                        org.assertj.core.groups.Tuple.tuple("later", 13_000L, "deadline"));
        assertThat(queue.takeReleases()).endsWith("never@20000", "last@21000");
        assertThat(queue.expiryTimers.entries).isEmpty();
        assertThat(queue.stored.entries).isEmpty();
    }

    @Test
    void a_waiting_request_is_cancelled_once() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        for (int i = 0; i < 6; i++) {
            queue.offer("r" + i, "c", null, 0);
        }
        for (String id : List.of("r2", "r3", "r5", "r0")) {
            Decision ended = queue.cancel(id, "c", 1);
            Decision answer = queue.decisions.get(queue.decisions.size() - 2);
            assertThat(answer.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(answer.reason()).isEqualTo(Reason.CANCELLED);
            assertThat(ended.requestId()).isEqualTo(id);
            assertThat(ended.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(ended.reason()).isEqualTo(Reason.CANCELLED);
            assertThat(ended.httpStatus()).isEqualTo(410);
        }
        Decision again = queue.cancel("r2", "c", 1);
        assertThat(again.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(again.reason()).isEqualTo(Reason.NOT_WAITING);
        assertThat(again.httpStatus()).isEqualTo(404);
        assertThat(queue.cancel("r1", "other", 1).reason()).isEqualTo(Reason.NOT_WAITING);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("r1@1", "r4@1001");
        assertThat(queue.stored.entries).isEmpty();
        assertThat(queue.tickets.entries).isEmpty();
    }

    @Test
    void the_newer_of_two_requests_with_one_id_is_cancelled_and_both_end() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        queue.offer("r", "c", null, 0);
        queue.offer("other", "c", null, 0);
        queue.offer("r", "c", null, 0);
        queue.cancel("r", "c", 0);
        assertThat(queue.cancel("r", "c", 0).reason()).isEqualTo(Reason.NOT_WAITING);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("r@0", "other@1000");
        assertThat(queue.tickets.entries).isEmpty();
    }

    @Test
    void a_peek_is_answered_and_changes_nothing() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 1, NO_MAX_WAIT, "gold", HIGH));
        queue.offer("a", "c", null, 0);
        Map<?, ?> before = Map.copyOf(queue.stored.entries);
        Decision full = queue.send(admission(RequestKind.PEEK, "p", "d", null, 1, null), 0);
        assertThat(full.reason()).isEqualTo(Reason.QUEUE_FULL);
        Decision queued = queue.send(admission(RequestKind.PEEK, "p", "d", "gold", 1, null), 0);
        assertThat(queued.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(queue.stored.entries).isEqualTo(before);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("a@0");
    }

    @Test
    void changed_rates_weights_and_priorities_apply_to_waiting_requests() {
        QueueHarness queue = harness(rules(1, 3_600_000, 1, 100, NO_MAX_WAIT));
        queue.offer("a", "c", null, 0);
        queue.offer("b", "c", null, 0);
        queue.offer("g", "d", "gold", 0);
        queue.runUntil(10);
        assertThat(queue.takeReleases()).containsExactly("a@0");
        queue.rules.put("q", rules(10, 1_000, 1, 100, NO_MAX_WAIT, "gold", HIGH));
        queue.carryOut(queue.shaper.refresh(20 * MS));
        queue.runDry();
        // nearly a whole token of the old rate was still in use: it counts as one at the new rate
        assertThat(queue.takeReleases()).containsExactly("g@119", "b@219");
    }

    @Test
    void a_slower_rate_applies_from_the_last_release_that_is_written_ahead() {
        QueueRules fast = rules(1_000, 1_000, 1, 100, NO_MAX_WAIT).toBuilder()
                .lookAheadMs(10)
                .build();
        QueueHarness queue = harness(fast);
        for (int i = 0; i < 13; i++) {
            queue.offer("r" + i, "c", null, 0);
        }
        queue.runUntil(0);
        assertThat(queue.takeReleases()).hasSize(11).last().isEqualTo("r10@10");
        queue.rules.put("q", fast.toBuilder().limit(10).build());
        queue.carryOut(queue.shaper.refresh(0));
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("r11@110", "r12@210");
    }

    @Test
    void a_deleted_queue_admits_nothing_and_drains_by_its_last_rules() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        queue.offer("a", "c", null, 0);
        queue.offer("b", "c", null, 0);
        queue.rules.clear();
        Decision refused = queue.offer("c", "c", null, 0);
        assertThat(refused.reason()).isEqualTo(Reason.NO_QUEUE);
        assertThat(refused.httpStatus()).isEqualTo(503);
        queue.restart();
        assertThat(queue.offer("d", "c", null, 0).reason()).isEqualTo(Reason.NO_QUEUE);
        queue.runDry();
        assertThat(queue.takeReleases()).containsExactly("a@0", "b@1000");
        queue.rules.put("q", rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        queue.offer("e", "c", null, 5_000);
        queue.runDry();
        assertThat(queue.releases).extracting(Release::sequence).containsExactly(1L); // it is another queue
    }

    @Test
    void a_queue_that_never_existed_admits_nothing() {
        QueueHarness queue = harness(rules(1, 1_000, 1, 100, NO_MAX_WAIT));
        queue.rules.clear();
        assertThat(queue.offer("a", "c", null, 0).reason()).isEqualTo(Reason.NO_QUEUE);
        assertThat(queue.cancel("a", "c", 0).reason()).isEqualTo(Reason.NOT_WAITING);
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_restart_keeps_the_pace_the_sequence_and_the_order() {
        QueueHarness queue = harness(rules(10, 1_000, 1, 100, NO_MAX_WAIT, "gold", HIGH));
        for (int i = 0; i < 6; i++) {
            queue.offer("a" + i, "a", null, 0);
        }
        queue.offer("b0", "b", null, 0);
        queue.offer("g0", "g", "gold", 0);
        queue.runUntil(100);
        queue.cancel("a2", "a", 100);
        assertThat(queue.takeReleases()).containsExactly("g0@0", "a0@100");
        queue.restart();
        queue.runDry();
        assertThat(queue.releases).extracting(Release::sequence).containsExactly(3L, 4L, 5L, 6L, 7L);
        assertThat(queue.takeReleases()).containsExactly("a1@200", "b0@300", "a3@400", "a4@500", "a5@600");
    }

    @Test
    void a_look_ahead_stamps_releases_with_their_own_times() {
        QueueRules rules = QueueRules.builder("q", 100, 1_000)
                .capacity(100)
                .lookAheadMs(35)
                .build();
        QueueHarness queue = harness(rules);
        for (int i = 0; i < 9; i++) {
            queue.offer("r" + i, "c", null, 1_000);
        }
        queue.carryOut(queue.shaper.tick(1_000 * MS, 1_000));
        assertThat(queue.takeReleases()).containsExactly("r0@1000", "r1@1010", "r2@1020", "r3@1030");
        assertThat(queue.shaper.dueNanos()).isEqualTo(1_005 * MS);
        queue.carryOut(queue.shaper.tick(1_020 * MS, 1_000));
        assertThat(queue.takeReleases()).containsExactly("r4@1040", "r5@1050");
        queue.carryOut(queue.shaper.tick(5_000 * MS, 1_000));
        assertThat(queue.takeReleases()).containsExactly("r6@5000", "r7@5010", "r8@5020");
    }

    @Test
    void rates_of_one_an_hour_and_fifty_thousand_a_second_are_kept() {
        QueueHarness slow = harness(rules(1, 3_600_000, 1, 100, NO_MAX_WAIT));
        QueueHarness fast = harness(rules(50_000, 1_000, 1, 1_000_000, NO_MAX_WAIT));
        for (int i = 0; i < 3; i++) {
            slow.offer("r" + i, "c", null, 0);
        }
        for (int i = 0; i < 100_001; i++) {
            fast.offer("r" + i, "c" + i % 7, null, 0);
        }
        slow.runDry();
        fast.runDry();
        assertThat(slow.takeReleases()).containsExactly("r0@0", "r1@3600000", "r2@7200000");
        assertThat(fast.releases.get(1).releaseAtNanos()).isEqualTo(20_000);
        assertThat(fast.releases.get(100_000).releaseAtNanos()).isEqualTo(2_000 * MS);
    }

    @Test
    void a_budget_ends_a_tick_and_the_rest_is_due_at_once() {
        QueueHarness queue = harness(rules(1_000, 1_000, 100, 1_000, NO_MAX_WAIT));
        for (int i = 0; i < 50; i++) {
            queue.offer("r" + i, "c", null, 0);
        }
        queue.carryOut(queue.shaper.tick(0, 20));
        assertThat(queue.releases).hasSize(20);
        assertThat(queue.shaper.dueNanos()).isZero();
        queue.carryOut(queue.shaper.tick(0, 100));
        assertThat(queue.releases).hasSize(50);
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(last(queue).outcome()).isEqualTo(Outcome.QUEUED);
    }

    /** Returns the store calls per release after the first. */
    private static double callsARelease(QueueHarness queue, int releases) {
        long before = calls(queue);
        for (int i = 0; i < releases; i++) {
            queue.carryOut(queue.shaper.tick(queue.shaper.dueNanos(), 1));
        }
        assertThat(queue.releases).hasSize(releases);
        return (double) (calls(queue) - before) / releases;
    }

    private static long calls(QueueHarness queue) {
        return queue.stored.calls + queue.tickets.calls + queue.expiryTimers.calls;
    }

    @Test
    void a_release_takes_the_same_few_store_calls_with_any_backlog_and_any_number_of_clients() {
        for (int clients : new int[] {1, 20_000}) {
            for (int backlog : new int[] {1_000, 60_000}) {
                QueueHarness queue = harness(rules(1_000, 1_000, 1, 1_000_000, NO_MAX_WAIT));
                for (int i = 0; i < backlog; i++) {
                    queue.offer("r" + i, "c" + i % clients, null, 0);
                }
                assertThat(callsARelease(queue, 500))
                        .as("%d waiting of %d clients", backlog, clients)
                        .isLessThanOrEqualTo(4);
            }
        }
    }

    @Test
    void a_release_does_not_scan_removed_requests() {
        int many = 100_000;
        QueueHarness queue = harness(rules(1_000, 1_000, 1, 1_000_000, NO_MAX_WAIT));
        for (int i = 0; i < many; i++) {
            queue.offer("r" + i, "c", null, 1, i % 3 == 0 ? (Long) 600_000L : null, 0);
        }
        for (int i = 1; i < many - 10; i++) {
            long before = calls(queue);
            queue.cancel("r" + i, "c", 0);
            assertThat(calls(queue) - before).isLessThan(16);
        }
        assertThat(callsARelease(queue, 11)).isLessThanOrEqualTo(8);
        assertThat(queue.shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(queue.stored.entries).isEmpty();
        assertThat(queue.expiryTimers.entries).isEmpty();
    }
}
