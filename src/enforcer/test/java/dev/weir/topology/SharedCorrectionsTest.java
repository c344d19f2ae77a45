package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseRequest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Settlements and reservations of shared limits. */
@Tag("slow")
class SharedCorrectionsTest extends SharingHarness {

    @Test
    void settlements_are_charged_to_the_ledger_and_nothing_is_refunded() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        request("alice", RequestKind.SETTLE, 100);
        assertThat(decided()).singleElement().satisfies(decision -> assertThat(decision.reason())
                .isEqualTo(Reason.SETTLED));
        exchange();
        request("alice", 1);
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
        request("alice", RequestKind.SETTLE, -1);
        assertThat(decided())
                .singleElement()
                .returns(Outcome.DENIED, Decision::outcome)
                .returns(Reason.SHARED_LIMIT_REFUND, Decision::reason)
                .returns(422, Decision::httpStatus);
        exchange();
        pass(5_000);
        request("alice", 1);
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"fixed-window", "sliding-window-log", "sliding-window-counter", "gcra", "token-bucket"})
    void what_a_reservation_does_not_need_can_be_used_by_others(String algorithm) throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: " + algorithm + ", limit: 1000, per: 1h}]}", 1);
        reservation(RequestKind.CONSUME, "soon", 900);
        reservation(RequestKind.SETTLE, "soon", 50);
        pass(1);
        reservation(RequestKind.CONSUME, "late", 900);
        assertThat(outcomes()).as("returned to the lease").containsOnly(Outcome.ALLOWED);
        endLeases();
        request("bob", 200);
        exchange();
        assertThat(outcomes()).as("950 are reported").containsExactly(Outcome.DENIED);
        reservation(RequestKind.SETTLE, "late", 100);
        reservation(RequestKind.SETTLE, "late", 100);
        send(Request.builder("late", "bob")
                .kind(RequestKind.CANCEL)
                .timestampMs(nowMs)
                .source(0, 0)
                .build());
        request("bob", 840);
        exchange();
        assertThat(decided())
                .extracting(Decision::reason)
                .as("refunded by the ledger, once, for its own client only")
                .containsExactly(Reason.SETTLED, Reason.SETTLED, Reason.NOTHING_RESERVED, Reason.WITHIN_LIMITS);
        endLeases();
        request("bob", 30);
        exchange();
        assertThat(outcomes()).as("50 + 100 + 840 are used").containsExactly(Outcome.DENIED);
    }

    @Test
    void a_released_reservation_keeps_its_charge_and_a_larger_cost_is_used_at_the_end() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]}", 1);
        reservation(RequestKind.CONSUME, "released", 300);
        reservation(RequestKind.CONSUME, "larger", 300);
        reservation(RequestKind.RELEASE, "released", 0);
        reservation(RequestKind.SETTLE, "larger", 400);
        assertThat(outcomes()).containsOnly(Outcome.ALLOWED);
        endLeases();
        request("bob", 301);
        request("bob", 300);
        exchange();
        pass(3_000);
        exchange();
        assertThat(outcomes()).containsExactlyInAnyOrder(Outcome.DENIED, Outcome.ALLOWED);
    }

    @Test
    void a_reservation_from_before_a_reset_is_not_refunded() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]}", 1);
        reservation(RequestKind.CONSUME, "before", 900);
        endLeases();
        request("alice", RequestKind.RESET, 1);
        exchange();
        request("bob", 900);
        exchange();
        endLeases();
        reservation(RequestKind.SETTLE, "before", 0);
        assertThat(outcomes()).containsOnly(Outcome.ALLOWED);
        pass(1_000);
        exchange();
        request("bob", 101);
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ", max-debt: 5"})
    void a_settlement_leaves_a_shared_limit_at_most_the_maximum_debt(String maxDebt) throws Exception {
        apply("  - {id: all, key: []" + maxDebt + ", limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        request("alice", RequestKind.SETTLE, 1_000_000_000_000L);
        assertThat(decided()).singleElement().returns(Reason.SETTLED, Decision::reason);
        exchange();
        assertNextIsDeniedFor(tokens(1 + (maxDebt.isEmpty() ? 10 : 5)));
    }

    @Test
    void messages_of_a_foreign_holder_neither_refund_a_shared_limit_nor_exceed_the_maximum_debt() throws Exception {
        apply("  - {id: all, key: [], max-debt: 2, limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        for (long tokens : List.of(10L, -1_000_000_000_000L, Long.MIN_VALUE)) {
            settleAsForeigner(tokens);
        }
        assertNextIsDeniedFor(tokens(1));
        pass(5_000); // the holder repeats its request after a term
        for (long tokens : List.of(1_000_000_000_000L, Long.MAX_VALUE)) {
            settleAsForeigner(tokens);
        }
        assertNextIsDeniedFor(tokens(3) - 5_000);
    }

    /** Returns the time in which {@code count} tokens are refilled at 10 tokens an hour. */
    private static long tokens(int count) {
        return Duration.ofHours(1).toMillis() / 10 * count;
    }

    /** Sends a message from a holder that is not part of the enforcer. */
    private void settleAsForeigner(long tokens) throws Exception {
        foreign(LeaseRequest.report("foreign", List.of(), tokens));
    }

    private void assertNextIsDeniedFor(long retryAfterMs) throws Exception {
        request("bob", 1);
        exchange();
        assertThat(decided())
                .singleElement()
                .returns(Reason.LIMIT_EXCEEDED, Decision::reason)
                .returns(retryAfterMs, Decision::retryAfterMs);
    }
}
