package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The remaining quota of a shared limit, as decisions and PEEK requests report it. */
@Tag("slow")
class SharedRemainingTest extends SharingHarness {

    @ParameterizedTest
    @ValueSource(strings = {"fixed-window", "sliding-window-log", "sliding-window-counter", "token-bucket", "gcra"})
    void a_peek_is_answered_by_the_ledger_and_needs_no_lease(String algorithm) throws Exception {
        apply(HOUR.formatted(algorithm, 1_000), 1);
        for (int i = 0; i < 20; i++) {
            Decision peeked = ask(RequestKind.PEEK, 1);
            assertThat(peeked.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(peeked.reason()).isEqualTo(Reason.WITHIN_LIMITS);
            assertThat(peeked.remaining()).isEqualTo(1_000);
            pass(400);
        }
        assertThat(ledgers()).as("nothing is lent").isZero();
        Decision refused = ask(RequestKind.PEEK, 1_001);
        assertThat(refused.reason()).isEqualTo(Reason.COST_NEVER_FITS);
        assertThat(ask(RequestKind.CONSUME, 1).remaining()).isEqualTo(999);
        assertThat(ask(RequestKind.PEEK, 999).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(ask(RequestKind.PEEK, 1_000).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
    }

    @Test
    void peeks_ask_the_ledger_at_most_once_while_its_answer_is_fresh() throws Exception {
        apply(HOUR.formatted("fixed-window", 1_000), 1);
        request("alice", RequestKind.PEEK, 1);
        int messages = exchange();
        for (int i = 0; i < 100; i++) {
            request("alice", RequestKind.PEEK, 1 + i);
            pass(10);
            messages += exchange();
        }
        assertThat(outcomes()).hasSize(101).containsOnly(Outcome.ALLOWED);
        assertThat(messages).as("a question and an answer").isEqualTo(2);
    }

    @Test
    void a_peek_of_what_is_used_up_is_denied_until_it_is_free_again() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 3, per: 1m}]}", 1);
        assertThat(ask(RequestKind.CONSUME, 3).remaining()).isZero();
        pass(1_000);
        exchange();
        Decision denied = ask(RequestKind.PEEK, 1);
        assertThat(denied.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(denied.remaining()).isZero();
        assertThat(denied.retryAfterMs()).isEqualTo(59_000);
        pass(59_000);
        exchange();
        assertThat(ask(RequestKind.PEEK, 3).remaining()).isEqualTo(3);
    }

    @Test
    void a_peek_delays_no_request_and_is_decided_before_its_longest_wait_ends() throws Exception {
        apply("  - {id: all, key: [], max-wait: 500ms, limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        assertThat(ask(RequestKind.CONSUME, 1).outcome()).isEqualTo(Outcome.ALLOWED);
        pass(1_000);
        exchange();
        request("alice", RequestKind.PEEK, 100);
        request("bob", 1);
        assertThat(decided())
                .extracting(Decision::client)
                .as("a lease suffices for bob")
                .containsExactly("bob");
        pass(500);
        Decision late = decided().get(0);
        assertThat(late.reason()).as("the ledger has not answered").isEqualTo(Reason.QUOTA_NOT_AT_HAND);
        exchange();
        assertThat(ask(RequestKind.PEEK, 100).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(ask(RequestKind.PEEK, 98).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"when-empty: deny", "on-exceed: observe"})
    void a_peek_is_answered_truly_also_without_waiting_for_leases(String setting) throws Exception {
        apply("  - {id: all, key: [], " + setting + ", limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        Decision first = ask(RequestKind.PEEK, 1);
        assertThat(first.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(first.observed()).isFalse();
        Decision whole = ask(RequestKind.PEEK, 100);
        assertThat(whole.observed()).isFalse();
        assertThat(whole.remaining()).isEqualTo(setting.contains("observe") ? null : 100L);
        Decision tooMuch = ask(RequestKind.PEEK, 101);
        assertThat(tooMuch.observed()).isEqualTo(setting.contains("observe"));
        assertThat(tooMuch.outcome()).isEqualTo(setting.contains("observe") ? Outcome.ALLOWED : Outcome.DENIED);
    }

    @Test
    void remaining_is_what_is_left_of_the_limit() throws Exception {
        apply(HOUR.formatted("fixed-window", 1_000), 1);
        long left = 1_000;
        for (int i = 0; i < 200; i++) {
            left -= 1 + i % 4;
            assertThat(ask(RequestKind.CONSUME, 1 + i % 4).remaining()).isEqualTo(left);
            pass(i % 7 == 0 ? 900 : 30);
            exchange();
        }
        assertThat(ask(RequestKind.SETTLE, 50).remaining()).isEqualTo(left - 50);
        pass(10_000);
        exchange();
        assertThat(ask(RequestKind.PEEK, 1).remaining()).isEqualTo(left - 50);
        assertThat(ask(RequestKind.CONSUME, left).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(ask(RequestKind.CONSUME, left - 50).remaining()).isZero();
    }
}
