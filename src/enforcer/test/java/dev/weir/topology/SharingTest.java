package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Leases of shared limits: requests wait for the first one, and use it together. */
@Tag("slow")
class SharingTest extends SharingHarness {

    @Test
    void a_request_waits_for_the_first_lease_and_later_ones_do_not() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1m}]}", 1);
        request("alice", 3);
        assertThat(decided()).isEmpty();
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.ALLOWED);
        for (int i = 0; i < 50; i++) {
            request("client" + i, 1);
            pass(20);
            exchange();
        }
        pass(100);
        exchange();
        assertThat(outcomes()).hasSize(50).containsOnly(Outcome.ALLOWED);
    }

    @Test
    void a_request_that_waited_records_after_which_request_it_was_decided() throws Exception {
        apply("  - {id: sms, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1m}]}", 1);
        request("alice", 3);
        request("bob", 3);
        request("alice", RequestKind.PEEK, 3);
        exchange();
        request("alice", 3);
        long checksum = live.table().checksum();
        assertThat(decided())
                .extracting(Decision::context)
                .containsExactly(
                        new DecisionContext(new DecisionOrder(2, 1), checksum),
                        new DecisionContext(new DecisionOrder(2, 2), checksum),
                        new DecisionContext(new DecisionOrder(2, 3), checksum), // the PEEK
                        new DecisionContext(null, checksum));
    }

    @Test
    void all_clients_together_get_no_more_than_the_limit() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: sliding-window-log, limit: 20, per: 1m}]}", 1);
        for (int i = 0; i < 60; i++) {
            request("client" + i, 1);
            exchange();
            pass(50);
        }
        pass(100);
        exchange();
        List<Outcome> outcomes = outcomes();
        assertThat(outcomes).hasSize(60);
        assertThat(outcomes.stream().filter(Outcome.ALLOWED::equals)).hasSize(20);
        assertThat(outcomes.subList(0, 20)).containsOnly(Outcome.ALLOWED);
    }

    @Test
    void a_request_without_a_response_is_denied_when_the_wait_is_over() throws Exception {
        apply("  - {id: all, key: [], max-wait: 50ms, limits: [{algorithm: gcra, limit: 5, per: 1m}]}", 1);
        request("alice", 1);
        pass(40);
        assertThat(decided()).isEmpty();
        pass(20);
        assertThat(decided()).singleElement().satisfies(decision -> {
            assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decision.reason()).isEqualTo(Reason.QUOTA_NOT_AT_HAND);
            assertThat(decision.limitedBy()).isEqualTo("gcra 5/1m");
            assertThat(decision.decidedAtMs()).isEqualTo(nowMs - 60);
        });
    }

    @Test
    void a_request_that_must_not_wait_is_denied_at_once() throws Exception {
        apply("  - {id: all, key: [], when-empty: deny, limits: [{algorithm: gcra, limit: 5, per: 1m}]}", 1);
        request("alice", 1);
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
        exchange();
        request("alice", 1);
        assertThat(outcomes()).as("the first request requested a lease").containsExactly(Outcome.ALLOWED);
    }

    @Test
    void a_repeat_of_a_request_that_waited_receives_the_first_answer() throws Exception {
        apply("  - {id: all, key: [], idempotency: 1m, limits: [{algorithm: fixed-window, limit: 1, per: 1h}]}", 1);
        request("alice", 1);
        sent--; // the same requestId
        request("alice", 1);
        exchange();
        exchange();
        List<Decision> all = decided();
        assertThat(all.stream().map(Decision::outcome)).containsExactly(Outcome.ALLOWED, Outcome.ALLOWED);
        assertThat(all.stream().map(Decision::repeated)).containsExactly(false, true);
    }

    @Test
    void waiting_requests_are_decided_in_order() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 3, per: 1m}]}", 1);
        for (String client : List.of("a", "b", "c", "d")) {
            request(client, 1);
        }
        for (int i = 0; i < 5; i++) {
            exchange();
            pass(10);
        }
        List<Decision> all = decided();
        assertThat(all.stream().map(Decision::client)).containsExactly("a", "b", "c", "d");
        assertThat(all.stream().map(Decision::outcome))
                .containsExactly(Outcome.ALLOWED, Outcome.ALLOWED, Outcome.ALLOWED, Outcome.DENIED);
    }

    @Test
    void unused_quota_is_returned_before_the_lease_ends() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        request("alice", 1);
        exchange();
        for (int i = 0; i < 30; i++) {
            request("alice", 1);
        }
        exchange();
        for (int i = 0; i < 60; i++) {
            pass(100);
            exchange();
        }
        int allowed = (int) outcomes().stream().filter(Outcome.ALLOWED::equals).count();
        for (int i = 0; i < 200; i++) {
            request("bob", 1);
            exchange();
        }
        pass(200);
        exchange();
        allowed += (int) outcomes().stream().filter(Outcome.ALLOWED::equals).count();
        assertThat(allowed).isEqualTo(100);
    }

    @Test
    void a_decision_names_the_limit_with_the_smallest_capacity() throws Exception {
        apply(
                "  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1d},"
                        + " {algorithm: fixed-window, limit: 10, per: 1m}]}",
                1);
        request("alice", 1);
        exchange();
        assertThat(decided()).singleElement().satisfies(decision -> assertThat(decision.limitedBy())
                .isEqualTo("fixed-window 10/1m"));
    }

    @Test
    void a_ledger_expires_by_the_time_of_lease_requests_and_not_by_a_clock_ahead() throws Exception {
        apply(
                "  - {id: each, key: [client, endpoint], lease: client,"
                        + " limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}",
                1);
        request("alice", 1);
        exchange();
        lending.advanceWallClockTime(Duration.ofDays(3));
        request("bob", 1);
        exchange();
        lending.advanceWallClockTime(Duration.ofMinutes(30));
        assertThat(ledgers()).as("the ledgers of alice and bob").isEqualTo(2);
        nowMs += Duration.ofDays(9).toMillis();
        deciding.advanceWallClockTime(Duration.ofDays(9)); // otherwise the next request would be too far ahead
        lending.advanceWallClockTime(Duration.ofDays(6));
        request("carol", 1);
        exchange();
        lending.advanceWallClockTime(Duration.ofMinutes(30));
        assertThat(ledgers()).as("the ledger of carol").isEqualTo(1);
    }
}
