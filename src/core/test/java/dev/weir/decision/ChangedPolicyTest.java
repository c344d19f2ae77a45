package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.Outcome;
import dev.weir.policy.Policy;
import org.junit.jupiter.api.Test;

/** Tests that a policy takes over the usage that was counted before it was changed. */
class ChangedPolicyTest extends LocalDecisions {

    @Test
    void keeps_what_was_used() {
        decide(consume(8, 0), policy("p", window(10, 60_000)));
        assertAllowed(decide(consume(1, 1), policy("p", window(20, 60_000))), "p/0", 11);
        assertDenied(decide(consume(1, 2), policy("p", window(5, 60_000))), "p/0", 59_998L);
    }

    @Test
    void keeps_it_across_algorithms() {
        decide(consume(8, 0), policy("p", window(10, 60_000)));
        assertAllowed(decide(consume(1, 1), policy("p", log(10, 60_000))), "p/0", 1);
        assertAllowed(decide(consume(1, 1), policy("p", tokens(10, 60_000, 10))), "p/0", 0);
        assertDenied(decide(consume(1, 1), policy("p", counter(10, 60_000))), "p/0", 60_000L);
    }

    @Test
    void keeps_it_in_another_order() {
        decide(consume(3, 0), policy("p", window(10, 60_000), window(5, 1_000)));
        Policy swapped = policy("p", window(5, 1_000), window(10, 60_000));
        assertThat(decide(consume(2, 1), swapped).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(states.of("c", "p").accounts().get(0).used(1)).isEqualTo(5);
        assertThat(states.of("c", "p").accounts().get(1).used(1)).isEqualTo(5);
    }

    @Test
    void an_added_limit_starts_fresh_and_a_removed_one_is_gone() {
        decide(consume(3, 0), policy("p", window(10, 60_000)));
        assertAllowed(decide(consume(3, 1), policy("p", window(10, 60_000), window(4, 1_000))), "p/1", 1);
        assertAllowed(decide(consume(4, 2), policy("p", window(10, 60_000))), "p/0", 0);
        assertThat(states.of("c", "p").accounts()).hasSize(1);
    }

    /**
     * The old count would last for a day. Under the new terms it is refilled, even while all requests are denied.
     */
    @Test
    void the_wait_under_the_new_terms_begins_with_the_first_request_after_the_change() {
        decide(consume(100, 0), policy("p", window(100, 86_400_000)));
        Policy changed = policy("p", tokens(100, 10_000, 100));
        assertDenied(decide(consume(1, 1_000), changed), "p/0", 100L);
        assertDenied(decide(consume(1, 1_050), changed), "p/0", 50L);
        assertAllowed(decide(consume(1, 1_100), changed), "p/0", 0);
    }

    @Test
    void a_denial_after_the_change_writes_nothing_if_nothing_is_used() {
        decide(consume(1, 0), policy("p", window(10, 1_000)));
        Policy changed = policy("p", window(5, 1_000));
        assertThat(decide(consume(6, 100_000), changed).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(consume(1, 50_000), changed).decidedAtMs())
                .as("as if the state had been deleted")
                .isEqualTo(50_000);
    }

    @Test
    void a_peek_after_the_change_writes_nothing() {
        decide(consume(100, 0), policy("p", window(100, 86_400_000)));
        PolicyState before = states.of("c", "p");
        assertDenied(decide(peek(1, 1_000), policy("p", tokens(100, 10_000, 100))), "p/0", 100L);
        assertThat(states.of("c", "p")).isSameAs(before);
    }

    @Test
    void the_same_limits_under_a_new_version_change_nothing() {
        decide(consume(3, 0), policy("p", log(10, 60_000)));
        Policy renamed = maxSize(10L, policy("p", log(10, 60_000)));
        assertAllowed(decide(consume(3, 1), renamed), "p/0", 4);
    }

    @Test
    void an_unused_log_is_deleted_in_steps() {
        Policy logs = policy("p", log(1_000, 100_000), log(500, 100_000));
        for (int i = 1; i <= 400; i++) {
            decide(consume(1, i), logs);
        }
        assertThat(states.segments()).isEqualTo(24);
        Policy changed = policy("p", log(500, 100_000), window(2_000, 100_000));
        for (int i = 0; i < 5; i++) {
            decide(consume(1, 401), changed);
            assertThat(states.segments()).isEqualTo(22 - 2 * i);
        }
        for (int i = 0; i < 5; i++) {
            decide(consume(1, 401), changed);
        }
        assertThat(states.segments()).as("segments of the log that is left").isEqualTo(12);
        assertThat(states.of("c", "p").retired()).isEmpty();
        assertThat(decide(peek(91, 401), changed).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(peek(90, 401), changed).outcome()).isEqualTo(Outcome.ALLOWED);
    }
}
