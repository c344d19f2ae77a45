package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests requests that must not be released before a time. */
class ScheduledQueueTest {

    private static final long DAY_MS = 86_400_000;
    private static final Map<String, String> WHOLE = Map.of();

    private static QueueRules.Builder tenASecond() {
        return QueueRules.builder("q", 10, 1_000).capacity(100).lookAheadMs(0);
    }

    private final QueueHarness queue = new QueueHarness(tenASecond().build());

    private Decision offer(String id, String client, Long notBeforeMs, long nowMs) {
        return send(RequestKind.CONSUME, id, client, notBeforeMs, null, nowMs);
    }

    private Decision send(RequestKind kind, String id, String client, Long notBeforeMs, Long deadlineMs, long nowMs) {
        QueueRules rules = queue.rules.get("q");
        Request request = Request.builder(id, client)
                .kind(kind)
                .attributes(Map.of("to", client))
                .deadlineMs(deadlineMs)
                .notBeforeMs(notBeforeMs)
                .timestampMs(nowMs)
                .build();
        Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null);
        return queue.sendNext(QueueRules.withKey(admission, rules), nowMs);
    }

    private void setRules(QueueRules rules) {
        queue.rules.put("q", rules);
        queue.carryOut(queue.shaper.refresh(0));
    }

    private QueueView.ScheduledView scheduled(long nowMs) {
        return queue.shaper.queries().view("q", nowMs * MS).scheduled();
    }

    @Test
    void a_request_is_released_at_its_time_and_not_before() {
        Decision decision = offer("later", "c", 5_000L, 0);
        assertThat(decision)
                .returns(Outcome.QUEUED, Decision::outcome)
                .returns(new Decision.Queueing("q", Map.of(), null, 5_000L), Decision::queueing);
        offer("now", "c", null, 0);
        queue.runUntil(4_999);
        assertThat(queue.takeReleases()).containsExactly("now@0");
        assertThat(scheduled(4_999)).isEqualTo(new QueueView.ScheduledView(1, 5_000L));
        queue.runUntil(5_000);
        assertThat(queue.releases).extracting(release -> release.enqueuedAtMs()).containsExactly(0L);
        assertThat(queue.takeReleases()).containsExactly("later@5000");
        assertThat(scheduled(5_000)).isEqualTo(QueueView.ScheduledView.NONE);
        assertThat(queue.schedule.size()).isZero();
        assertThat(queue.scheduleTickets.entries).isEmpty();
    }

    @Test
    void a_time_that_is_past_has_no_effect() {
        assertThat(offer("a", "c", 1_000L, 1_000).queueing().position()).isEqualTo(1);
        assertThat(offer("b", "c", -5L, 1_000).queueing().position()).isEqualTo(2);
        assertThat(offer("c", "c", null, 1_000).queueing().position()).isEqualTo(3);
        queue.runUntil(2_000);
        assertThat(queue.takeReleases()).containsExactly("a@1000", "b@1100", "c@1200");
    }

    @Test
    void requests_enter_their_flow_by_time_then_by_arrival_as_if_they_had_arrived_then() {
        offer("b", "c", 2_000L, 0);
        offer("c", "c", 2_000L, 0);
        offer("a", "c", 1_999L, 0);
        offer("first", "c", null, 1_950);
        offer("second", "c", null, 1_950);
        queue.runUntil(2_000);
        offer("last", "c", null, 2_000);
        queue.runUntil(3_000);
        assertThat(queue.takeReleases())
                .containsExactly("first@1950", "second@2050", "a@2150", "b@2250", "c@2350", "last@2450");
    }

    /** If it earned a turn while it waits for its time, the first ones to leave would be those of "later". */
    @Test
    void a_request_takes_no_turn_before_its_time() {
        for (int i = 0; i < 4; i++) {
            offer("later" + i, "late", 1_000L, 0);
            offer("busy" + i, "busy", null, 900);
        }
        queue.runUntil(2_000);
        assertThat(queue.takeReleases())
                .containsExactly(
                        "busy0@900",
                        "busy1@1000",
                        "later0@1100",
                        "busy2@1200",
                        "later1@1300",
                        "busy3@1400",
                        "later2@1500",
                        "later3@1600");
    }

    @Test
    void a_higher_priority_leaves_first_once_its_time_has_come() {
        setRules(tenASecond().tiers(Map.of("vip", new TierShare(1, 1))).build());
        Request vip = Request.builder("vip", "c").tier("vip").notBeforeMs(150L).build();
        queue.sendNext(Admission.of(vip, "q", new PolicyVersion("p", 1), null), 0);
        for (String id : List.of("a", "b", "c", "d")) {
            offer(id, "c", null, 0);
        }
        queue.runUntil(1_000);
        assertThat(queue.takeReleases()).containsExactly("a@0", "b@100", "vip@200", "c@300", "d@400");
    }

    @ParameterizedTest
    @CsvSource({"4999, TOO_LATE, deadline", "5000, SHAPED,", ", SHAPED,"})
    void a_deadline_before_the_time_is_too_late(Long deadlineMs, Reason reason, String limitedBy) {
        assertThat(send(RequestKind.CONSUME, "r", "c", 5_000L, deadlineMs, 0))
                .returns(reason, Decision::reason)
                .returns(limitedBy, Decision::limitedBy)
                .returns(reason == Reason.SHAPED ? 0L : null, Decision::retryAfterMs);
        queue.runUntil(5_000);
        assertThat(queue.releases).hasSize(reason == Reason.SHAPED ? 1 : 0);
    }

    /** The timestamp of a request can be ahead of the queue's time. */
    @Test
    void a_time_more_than_30_days_ahead_of_the_queue_is_too_late() {
        assertThat(offer("a", "c", 30 * DAY_MS, 0).outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(offer("b", "c", 30 * DAY_MS + 1, 0))
                .returns(Reason.TOO_LATE, Decision::reason)
                .returns("notBefore", Decision::limitedBy)
                .returns(30 * DAY_MS, Decision::limit);
        queue.runUntil(31 * DAY_MS);
        assertThat(queue.takeReleases()).containsExactly("a@" + 30 * DAY_MS);
    }

    @Test
    void max_wait_counts_from_the_time() {
        setRules(tenASecond().maxWaitMs(250).build());
        for (int i = 0; i < 4; i++) {
            offer("r" + i, "c", 1_000L, 0);
        }
        queue.runUntil(2_000);
        assertThat(queue.takeReleases()).containsExactly("r0@1000", "r1@1100", "r2@1200");
        assertThat(queue.decisions.get(queue.decisions.size() - 1))
                .returns("r3", Decision::requestId)
                .returns(Outcome.EXPIRED, Decision::outcome)
                .returns("max-wait", Decision::limitedBy)
                .returns(1_250L, Decision::decidedAtMs);
    }

    @Test
    void it_occupies_capacity_is_not_evicted_and_evicts_none() {
        setRules(tenASecond()
                .capacity(2)
                .tiers(Map.of("c", new TierShare(0, 1), "vip", new TierShare(1, 1)))
                .build());
        offer("later", "c", 5_000L, 0);
        offer("now", "c", null, 0);
        assertThat(offer("full", "c", null, 0).reason()).isEqualTo(Reason.QUEUE_FULL);
        Request vip = Request.builder("vip", "v").tier("vip").build();
        Decision denied = queue.sendNext(
                Admission.of(vip.toBuilder().notBeforeMs(100L).build(), "q", new PolicyVersion("p", 1), null), 0);
        assertThat(denied.reason()).as("it evicts none").isEqualTo(Reason.QUEUE_FULL);
        queue.sendNext(Admission.of(vip, "q", new PolicyVersion("p", 1), null), 0);
        assertThat(queue.decisions)
                .filteredOn(decision -> decision.reason() == Reason.EVICTED)
                .extracting(Decision::requestId)
                .containsExactly("now");
        queue.runUntil(0);
        assertThat(queue.takeReleases()).containsExactly("vip@0");
        offer("more", "c", null, 1_000);
        assertThat(offer("retry", "c", null, 1_000))
                .returns(Reason.QUEUE_FULL, Decision::reason)
                .returns(1L, Decision::retryAfterMs);
        queue.runUntil(1_000);
        offer("x", "c", 4_000L, 1_000);
        assertThat(offer("y", "c", null, 1_000))
                .as("there is room when the first one leaves")
                .returns(3_001L, Decision::retryAfterMs);
    }

    @Test
    void a_total_counts_it_whatever_its_priority() {
        setRules(tenASecond()
                .key(List.of("to"))
                .total(new QueueTotal(10, 1_000, 2))
                .tiers(Map.of("vip", new TierShare(1, 1)))
                .build());
        offer("later", "a", 60_000L, 0);
        offer("also", "b", 60_000L, 0);
        assertThat(offer("full", "c", null, 0).limitedBy()).isEqualTo("total.capacity");
        queue.runUntil(59_999);
        assertThat(queue.releases).isEmpty();
        queue.runUntil(61_000);
        assertThat(queue.releases)
                .extracting(release -> release.requestId())
                .containsExactlyInAnyOrder("later", "also");
        assertThat(queue.releases).allMatch(release -> release.releaseAtNanos() >= 60_000 * MS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void it_can_be_cancelled(boolean restarts) {
        offer("a", "c", 5_000L, 0);
        offer("b", "c", 6_000L, 0);
        if (restarts) {
            queue.restart();
        }
        assertThat(queue.cancel("a", "other", 1_000).reason()).isEqualTo(Reason.NOT_WAITING);
        queue.decisions.clear();
        queue.cancel("a", "c", 1_000);
        assertThat(queue.decisions)
                .extracting(Decision::outcome, Decision::reason)
                .containsExactly(tuple(Outcome.ALLOWED, Reason.CANCELLED), tuple(Outcome.DENIED, Reason.CANCELLED));
        assertThat(queue.cancel("a", "c", 1_000).reason()).isEqualTo(Reason.NOT_WAITING);
        assertThat(scheduled(1_000)).isEqualTo(new QueueView.ScheduledView(1, 6_000L));
        queue.runUntil(7_000);
        assertThat(queue.takeReleases()).containsExactly("b@6000");
    }

    @Test
    void of_several_with_one_id_the_newest_is_cancelled() {
        offer("a", "c", 5_000L, 0);
        offer("a", "c", 4_000L, 0);
        queue.cancel("a", "c", 1_000);
        queue.runUntil(7_000);
        assertThat(queue.takeReleases()).containsExactly("a@5000");
        assertThat(queue.scheduleTickets.entries).isEmpty();
        assertThat(queue.tickets.entries).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void a_purge_ends_those_that_were_queued_before(boolean isKeyed, boolean restarts) {
        setRules(tenASecond()
                .capacity(10_000)
                .key(isKeyed ? List.of("to") : List.of())
                .build());
        for (int i = 0; i < 1_500; i++) {
            offer("old" + i, "c", 10_000L + i % 7, 0);
        }
        queue.decisions.clear();
        queue.command(Action.PURGE, "q", WHOLE, 1);
        offer("new", "c", 9_000L, 2);
        if (restarts) {
            queue.restart();
        }
        queue.runUntil(20_000);
        assertThat(queue.takeReleases()).containsExactly("new@9000");
        assertThat(queue.decisions)
                .filteredOn(decision -> decision.reason() == Reason.PURGED)
                .hasSize(1_500)
                .extracting(Decision::requestId)
                .doesNotHaveDuplicates();
        assertThat(queue.orders).as("the purge is over").isEmpty();
        assertThat(queue.shaper.hasWaiting()).isFalse();
    }

    @Test
    void a_pause_holds_it_and_a_drain_lets_it_leave_at_its_time() {
        offer("a", "c", 1_000L, 0);
        queue.command(Action.DRAIN, "q", WHOLE, 0);
        assertThat(offer("b", "c", 1_000L, 0).reason()).isEqualTo(Reason.QUEUE_DRAINING);
        queue.command(Action.PAUSE, "q", WHOLE, 500);
        queue.runUntil(3_000);
        assertThat(queue.releases).isEmpty();
        queue.restart();
        queue.command(Action.RESUME, "q", WHOLE, 3_000);
        queue.runUntil(3_000);
        assertThat(queue.takeReleases()).containsExactly("a@3000");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_deleted_queue_stays_until_its_last_time_has_come(boolean isKeyed) {
        setRules(tenASecond().key(isKeyed ? List.of("to") : List.of()).build());
        offer("a", "c", 30 * DAY_MS, 0);
        queue.rules.clear();
        queue.carryOut(queue.shaper.refresh(0));
        queue.runUntil(29 * DAY_MS);
        queue.restart();
        queue.carryOut(queue.shaper.refresh(29 * DAY_MS * MS));
        assertThat(queue.savedQueues).isNotEmpty();
        queue.runUntil(31 * DAY_MS);
        assertThat(queue.takeReleases()).containsExactly("a@" + 30 * DAY_MS);
        queue.runDry();
        assertThat(queue.savedQueues).isEmpty();
        assertThat(queue.saved).isEmpty();
    }

    @Test
    void rules_that_change_apply_at_its_time() {
        offer("a", "c", 1_000L, 0);
        offer("b", "c", 1_000L, 0);
        setRules(QueueRules.builder("q", 1, 1_000)
                .capacity(1)
                .maxWaitMs(5_000)
                .lookAheadMs(0)
                .build());
        queue.runUntil(2_000);
        assertThat(queue.takeReleases()).containsExactly("a@1000", "b@2000");
    }

    @Test
    void the_expected_wait_counts_what_waits_now_and_is_unknown_behind_others() {
        for (int i = 0; i < 30; i++) {
            offer("now" + i, "c", null, 0);
        }
        assertThat(offer("soon", "c", 1_000L, 0).queueing().expectedWaitMs())
                .as("all of 30 leave before")
                .isEqualTo(3_000);
        assertThat(offer("behind", "d", 1_000L, 0).queueing().expectedWaitMs()).isNull();
        assertThat(send(RequestKind.PEEK, "peek", "d", 999L, null, 0).queueing())
                .isEqualTo(new Decision.Queueing("q", Map.of(), null, 3_000L));
        assertThat(scheduled(0).requests()).as("a PEEK does not wait").isEqualTo(2);
        queue.command(Action.PAUSE, "q", WHOLE, 0);
        assertThat(offer("paused", "d", 500L, 0).queueing().expectedWaitMs()).isNull();
    }

    @Test
    void with_slots_each_place_and_receipt_is_used_once() {
        setRules(QueueRules.builder("q", new InFlightRules(1, 60_000, 60_000, 5, 10))
                .capacity(100)
                .lookAheadMs(0)
                .build());
        offer("old0", "c", 3_000L, 0);
        offer("old1", "c", 3_001L, 0);
        for (int i = 0; i < 5; i++) {
            offer("r" + i, "c", null, 1_000);
        }
        for (int ms = 1_000; ms < 4_000; ms++) {
            queue.runUntil(ms);
            if (ms % 100 == 0 && !queue.releases.isEmpty()) {
                queue.done(queue.releases.get(queue.releases.size() - 1), ms);
            }
        }
        assertThat(queue.releases)
                .extracting(release -> release.requestId())
                .containsExactly("r0", "r1", "r2", "r3", "r4", "old0", "old1");
        assertThat(queue.releases)
                .extracting(release -> release.attempt().receipt())
                .doesNotHaveDuplicates();
    }

    @Test
    void a_restart_reads_none_of_them() {
        for (int i = 0; i < 50; i++) {
            offer("r" + i, "c" + i % 3, 60_000L + i, 0);
        }
        long before = calls();
        queue.restart();
        assertThat(scheduled(0)).isEqualTo(new QueueView.ScheduledView(50, 60_000L));
        assertThat(calls()).isEqualTo(before);
        queue.runUntil(70_000);
        assertThat(queue.releases).hasSize(50);
    }

    private long calls() {
        return queue.schedule.calls + queue.scheduleTickets.calls + queue.tickets.calls + queue.stored.calls;
    }
}
