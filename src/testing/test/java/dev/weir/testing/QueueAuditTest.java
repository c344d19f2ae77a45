package dev.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each test breaks one guarantee in a history that is otherwise sound, and checks that the audit finds it. */
class QueueAuditTest extends AuditedHistory {

    private static final long MS = 1_000_000;

    /** 3 requests a second: slots of a third of a second. */
    private static final QueueRules RULES = QueueRules.builder("q", 3, 1_000)
            .burst(2)
            .capacity(100)
            .maxWaitMs(5_000)
            .lookAheadMs(0)
            .tiers(Map.of("gold", new TierShare(1, 1)))
            .build();

    QueueAuditTest() {
        super(RULES);
    }

    /** a and b leave together; g, of a higher priority, arrives and leaves before c; d expires, and e is cancelled. */
    @BeforeEach
    void sound() {
        request("a", RequestKind.CONSUME, "free", 1, null);
        request("b", RequestKind.CONSUME, "free", 1, null);
        request("c", RequestKind.CONSUME, "free", 5, null);
        request("d", RequestKind.CONSUME, "free", 1, 900L);
        request("e", RequestKind.CONSUME, null, 1, null);
        request("e", RequestKind.CANCEL, null, 1, null);
        request("f", RequestKind.CONSUME, null, 1, null);
        request("g", RequestKind.CONSUME, "gold", 1, null);
        request("h", RequestKind.CONSUME, "free", 1, null);
        for (int i = 0; i <= 4; i++) {
            decision(i, Outcome.QUEUED, Reason.SHAPED, 0);
        }
        decision(4, Outcome.DENIED, Reason.CANCELLED, 1);
        decision(5, Outcome.ALLOWED, Reason.CANCELLED, 1);
        decision(6, Outcome.DENIED, Reason.QUEUE_FULL, 1);
        decision(7, Outcome.QUEUED, Reason.SHAPED, 300);
        decision(3, Outcome.EXPIRED, Reason.WAITED_TOO_LONG, 900);
        decision(8, Outcome.QUEUED, Reason.SHAPED, 900);
        release(0, 0);
        release(1, 0);
        release(7, 333_333_334);
        release(2, 1_000_000_000);
        release(8, 2_333_333_334L); // b uses the burst; c takes five slots, of which the burst covers two
    }

    @Test
    void a_sound_history_has_no_faults() {
        assertThat(faults()).isEmpty();
        assertThat(audit().unanswered()).isZero();
        assertThat(audit().waiting()).isZero();
        assertThat(audit().released()).isEqualTo(5);
        assertThat(audit().decided(Reason.QUEUE_FULL)).isEqualTo(1);
    }

    @Test
    void a_request_without_an_answer_is_found() {
        decisions.removeIf(decision -> decision.reason() == Reason.QUEUE_FULL);
        assertThat(faults()).containsExactly("f has no decision");
        assertThat(audit().unanswered()).isEqualTo(1);
    }

    @Test
    void a_second_answer_is_found() {
        decision(0, Outcome.QUEUED, Reason.SHAPED, 7);
        decision(6, Outcome.DENIED, Reason.QUEUE_FULL, 7);
        assertThat(faults())
                .containsExactly(
                        "a got QUEUED SHAPED after QUEUED SHAPED", "f got DENIED QUEUE_FULL after DENIED QUEUE_FULL");
    }

    @Test
    void an_answer_to_nobody_is_found() {
        requests.remove(6);
        assertThat(faults()).singleElement().asString().startsWith("no request at Source[partition=0, offset=6]");
    }

    @Test
    void an_end_before_the_answer_is_found() {
        decisions.add(0, decisions.remove(9));
        assertThat(faults())
                .contains("d got EXPIRED WAITED_TOO_LONG first", "d got QUEUED SHAPED after EXPIRED WAITED_TOO_LONG");
    }

    @Test
    void a_missing_end_is_found() {
        decisions.removeIf(decision -> decision.outcome() == Outcome.EXPIRED);
        releases.remove(4);
        assertThat(faults())
                .containsExactly("d got QUEUED SHAPED and ended with []", "h got QUEUED SHAPED and ended with []");
        assertThat(audit().waiting()).isEqualTo(2);
    }

    @Test
    void a_duplicate_release_is_found() {
        release(0, 4_000_000_000L);
        assertThat(audit().answers()).containsExactly("a got QUEUED SHAPED and ended with [released, released]");
    }

    @Test
    void two_ends_are_found() {
        decision(3, Outcome.DENIED, Reason.EVICTED, 950);
        decision(8, Outcome.DENIED, Reason.EVICTED, 950);
        assertThat(faults())
                .containsExactly(
                        "d got QUEUED SHAPED and ended with [EXPIRED WAITED_TOO_LONG, DENIED EVICTED]",
                        "h got QUEUED SHAPED and ended with [DENIED EVICTED, released]");
    }

    @Test
    void a_release_of_one_that_was_refused_is_found() {
        release(6, 3_000_000_000L);
        assertThat(faults()).containsExactly("f got DENIED QUEUE_FULL and ended with [released]");
    }

    @Test
    void a_release_of_what_nobody_sent_is_found() {
        requests.remove(8);
        decisions.removeIf(decision -> decision.source().offset() == 8);
        assertThat(faults()).singleElement().asString().startsWith("no request for the releases [Release[requestId=h");
    }

    @Test
    void a_withdrawal_in_word_only_and_one_unasked_are_found() {
        decisions.removeIf(decision -> decision.reason() == Reason.CANCELLED && decision.outcome() == Outcome.DENIED);
        assertThat(audit().withdrawals()).containsExactly("e was not cancelled by its CANCEL");
        sound();
        decisions.removeIf(decision -> decision.reason() == Reason.CANCELLED && decision.outcome() == Outcome.ALLOWED);
        assertThat(audit().withdrawals()).containsExactly("e was cancelled without a CANCEL");
    }

    @Test
    void a_gap_and_a_repeat_in_the_sequence_are_found() {
        change(4, 6, releases.get(4).releaseAtNanos());
        assertThat(faults()).containsExactly("q#6 (h) should have sequence 5");
        change(4, 4, releases.get(4).releaseAtNanos());
        assertThat(faults()).containsExactly("q#4 (h) should have sequence 5");
    }

    @Test
    void a_sequence_that_does_not_begin_with_1_is_found() {
        requests.remove(0);
        decisions.remove(0);
        releases.remove(0);
        assertThat(faults()).containsExactly("q#2 (b) should have sequence 1");
    }

    @Test
    void releases_out_of_order_in_time_or_in_the_topic_are_found() {
        releases.add(0, releases.remove(1));
        assertThat(faults()).containsExactly("q#1 (a) was written after q#2 (b)");
        releases.add(0, releases.remove(1));
        change(1, 2, -1);
        assertThat(audit().sequences()).containsExactly("q#2 (b) is earlier than its predecessor");
    }

    @Test
    void two_releases_that_are_a_nanosecond_too_close_are_found() {
        change(2, 3, 333_333_333);
        assertThat(faults()).containsExactly("q#3 (g) is released 1 ns too early");
    }

    @Test
    void one_that_does_not_wait_for_the_slots_of_a_large_one_before_it_is_found() {
        change(4, 5, 2_333_333_333L);
        assertThat(faults()).containsExactly("q#5 (h) is released 1 ns too early");
    }

    @Test
    void too_much_over_a_long_interval_is_found_though_neighbours_are_far_enough_apart() {
        for (int i = 0; i < 4; i++) { // 10 % too fast, which the burst covers for a while
            int offset = requests.size();
            request("r" + i, RequestKind.CONSUME, "free", 1, null);
            decision(offset, Outcome.QUEUED, Reason.SHAPED, 2_000);
            release(offset, 2_700_000_000L + i * 300_000_000L);
        }
        assertThat(faults())
                .containsExactly(
                        "q#8 (r2) is released 33333334 ns too early", "q#9 (r3) is released 66666667 ns too early");
    }

    @Test
    void a_release_after_max_wait_or_the_deadline_or_before_it_came_is_found() {
        change(4, 5, 5_000 * MS);
        assertThat(faults()).isEmpty();
        change(4, 5, 5_000 * MS + 1);
        assertThat(faults()).containsExactly("q#5 (h) is released after max-wait");
        decisions.removeIf(decision -> decision.outcome() == Outcome.EXPIRED);
        releases.remove(4);
        release(3, 2_333_333_334L);
        assertThat(audit().expiries(RULES)).containsExactly("q#5 (d) is released after its deadline");
        change(4, 5, -1);
        assertThat(audit().expiries(RULES)).containsExactly("q#5 (d) is released before it was queued");
    }

    @Test
    void a_release_before_the_time_of_its_request_is_found_and_max_wait_counts_from_it() {
        replace(8, 3_000L);
        change(4, 5, 8_000 * MS);
        assertThat(faults()).isEmpty();
        change(4, 5, 8_000 * MS + 1);
        assertThat(faults()).containsExactly("q#5 (h) is released after max-wait");
        change(4, 5, 3_000 * MS - 1);
        assertThat(faults()).containsExactly("q#5 (h) is released before 3000, its notBefore");
    }

    private void replace(int offset, long notBeforeMs) {
        requests.set(
                offset,
                requests.get(offset).toBuilder().notBeforeMs(notBeforeMs).build());
    }

    @Test
    void an_expiry_at_another_time_than_the_deadline_is_found() {
        decisions.removeIf(decision -> decision.outcome() == Outcome.EXPIRED);
        decision(3, Outcome.EXPIRED, Reason.WAITED_TOO_LONG, 901);
        assertThat(faults()).containsExactly("d expired at 901 by deadline, its deadline is 900");
    }

    @Test
    void two_of_one_flow_in_swapped_order_are_found() {
        Release first = releases.get(0);
        releases.set(0, copy(releases.get(1), 1, 0));
        releases.set(1, copy(first, 2, 0));
        assertThat(faults()).containsExactly("q#2 (a) is released after b, which has a later offset");
    }

    @Test
    void a_lower_priority_that_leaves_while_a_higher_one_waits_is_found() {
        decisions.replaceAll(decision ->
                decision.requestId().equals("c") || decision.requestId().equals("g") ? at(decision, 200) : decision);
        releases.set(2, copy(releases.get(3), 3, 1_000_000_000));
        releases.set(3, copy(release(7, 0), 4, 2_333_333_334L));
        releases.remove(5);
        change(4, 5, 3_000_000_000L);
        assertThat(faults()).containsExactly("q#3 (c) is released while a higher priority waits since 200");
        Map<String, TierShare> shares = new HashMap<>(RULES.tiers());
        shares.put("free", RULES.share("free").withMinPercent(5));
        assertThat(audit().priorities(RULES.toBuilder().tiers(shares).build())).isEmpty();
        decisions.replaceAll(decision -> decision.requestId().equals("g") ? at(decision, 1_000) : decision);
        assertThat(faults()).isEmpty(); // it may have been queued a moment later
    }

    @Test
    void a_release_that_is_not_what_was_sent_is_found() {
        Release sent = releases.get(0);
        releases.set(
                0,
                Release.builder("a", "alice", "q")
                        .tier("free")
                        .releaseAtNanos(sent.releaseAtNanos())
                        .attributes(Map.of("x", "y"))
                        .payload(new byte[0])
                        .build());
        assertThat(faults()).containsExactly("q#1 (a) differs from its request");
    }

    @Test
    void a_release_from_another_queue_is_found() {
        Release last = releases.remove(4);
        releases.add(Release.builder("h", "alice", "other")
                .tier("free")
                .releaseAtNanos(last.releaseAtNanos())
                .build());
        assertThat(faults()).containsExactly("other#1 (h) was queued in q");
    }

    private void request(String id, RequestKind kind, String tier, long cost, Long deadlineMs) {
        String queue = kind == RequestKind.CANCEL ? "q" : null;
        send(Request.builder(id, "alice")
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .deadlineMs(deadlineMs)
                .queue(queue));
    }

    private void decision(int offset, Outcome outcome, Reason reason, long atMs) {
        Request request = requests.get(offset);
        String limitedBy = outcome == Outcome.EXPIRED ? "deadline" : null;
        decisions.add(decision(request.requestId(), request.source(), outcome, reason, limitedBy, atMs));
    }

    private static Decision at(Decision of, long atMs) {
        return decision(of.requestId(), of.source(), of.outcome(), of.reason(), of.limitedBy(), atMs);
    }

    private static Decision decision(
            String id, Request.Source source, Outcome outcome, Reason reason, String limitedBy, long atMs) {
        return decision(id, source, outcome, reason, atMs)
                .withLimit(new PolicyVersion("p", 1), limitedBy == null ? null : LimitStatus.of(limitedBy, null));
    }

    private Release release(int offset, long atNanos) {
        Request request = requests.get(offset);
        Release release = Release.builder(request.requestId(), "alice", "q")
                .tier(request.tier())
                .sequence(releases.size() + 1)
                .releaseAtNanos(atNanos)
                .cost(request.cost())
                .build();
        releases.add(release);
        return release;
    }

    private void change(int index, long sequence, long atNanos) {
        releases.set(index, copy(releases.get(index), sequence, atNanos));
    }

    private static Release copy(Release of, long sequence, long atNanos) {
        return Release.builder(of.requestId(), of.client(), of.queue())
                .tier(of.tier())
                .sequence(sequence)
                .releaseAtNanos(atNanos)
                .cost(of.cost())
                .build();
    }
}
