package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.limit.Limit;
import dev.weir.policy.Policy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of the charges of SETTLE. */
class SettlingTest extends LocalDecisions {

    @Test
    void charges_on_into_debt_and_is_always_allowed() {
        Policy policy = policy("p", tokens(1, 1_000, 10));
        decide(consume(8, 0), policy);
        Decision decision = decide(settle(5, 0), policy);
        assertAllowed(decision, "p/0", 0);
        assertThat(decision.reason()).isEqualTo(Reason.SETTLED);
        assertThat(decision.resetAfterMs()).isEqualTo(13_000);
        assertDenied(decide(consume(1, 0), policy), "p/0", 4_000L);
        assertDenied(decide(consume(1, 3_999), policy), "p/0", 1L);
        assertAllowed(decide(consume(1, 4_000), policy), "p/0", 0);
    }

    @Test
    void debt_is_at_most_one_full_limit_however_much_is_settled() {
        for (Limit<?> limit : List.of(
                window(10, 60_000),
                log(10, 60_000),
                counter(10, 60_000),
                tokens(10, 60_000, 10),
                gcra(10, 60_000, 10),
                Samples.steps(10, 60_000, 10))) {
            Policy policy = policy("p-" + limit.getClass().getSimpleName(), limit);
            decide(settle(1_000_000_000_000L, 0), policy);
            decide(settle(1, 0), policy);
            assertThat(states.of("c", policy.id()).accounts().get(0).used(0)).isEqualTo(20);
            assertThat(decide(consume(10, 0), policy).retryAfterMs()).isLessThanOrEqualTo(120_000);
            decide(settle(-10, 0), policy);
            assertAllowed(decide(peek(0, 0), policy), policy.id() + "/0", 0);
            decide(settle(-1, 0), policy);
            assertAllowed(decide(consume(1, 0), policy), policy.id() + "/0", 0);
        }
    }

    @Test
    void a_policy_bounds_the_debt() {
        for (long maxDebt : new long[] {0, 3, 1_000}) {
            Policy policy = policy("p" + maxDebt, tokens(10, 60_000, 10));
            policy = maxDebt(maxDebt, policy);
            decide(consume(10, 0), policy);
            decide(settle(500, 0), policy);
            assertThat(states.of("c", policy.id()).accounts().get(0).used(0)).isEqualTo(10 + Math.min(500, maxDebt));
        }
    }

    @Test
    void a_debt_that_cannot_be_counted_exactly_is_rejected() {
        long most = Limit.MAX_LEVEL / 11_000 - 7;
        Limit<?> limit = gcra(7, 11_000, 7);
        assertThat(new Policy.Term("g", limit, most).maxUsed()).isEqualTo(most + 7);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Policy.Term("g", limit, most + 1))
                .withMessage("max-debt must be 0 to " + most + " for g, is " + (most + 1));
    }

    private Policy maxDebt(long maxDebt, Policy policy) {
        List<Policy.Term> terms = policy.terms().stream()
                .map(term -> new Policy.Term(term.label(), term.limit(), maxDebt))
                .toList();
        return Policy.builder(policy.id())
                .match(policy.match())
                .key(policy.key())
                .terms(terms)
                .onExceed(policy.onExceed())
                .build();
    }

    @Test
    void refunds_at_once_but_never_above_the_capacity() {
        Policy policy = policy("p", window(10, 60_000));
        decide(consume(8, 0), policy);
        assertAllowed(decide(settle(-3, 1), policy), "p/0", 5);
        assertAllowed(decide(settle(-300, 2), policy), "p/0", 10);
        assertAllowed(decide(consume(10, 3), policy), "p/0", 0);
    }

    @Test
    void out_of_debt_and_back() {
        for (Limit<?> limit : List.of(window(10, 60_000), log(10, 60_000), counter(10, 60_000), gcra(10, 60_000, 10))) {
            Policy policy = policy("p-" + limit.getClass().getSimpleName(), limit);
            decide(consume(10, 0), policy);
            decide(settle(7, 0), policy);
            assertThat(decide(peek(1, 0), policy).remaining()).isZero();
            decide(settle(-7, 0), policy);
            assertThat(decide(peek(1, 0), policy).outcome()).isEqualTo(Outcome.DENIED);
            decide(settle(-1, 0), policy);
            assertThat(decide(peek(1, 0), policy).outcome()).isEqualTo(Outcome.ALLOWED);
        }
    }

    @Test
    void ignores_the_size() {
        Policy policy = maxSize(10L, policy("p", window(10, 60_000)));
        assertAllowed(decide(sized(11, settle(3, 0)), policy), "p/0", 7);
    }

    @Test
    void of_zero_changes_nothing() {
        assertAllowed(decide(settle(0, 0), policy("p", window(10, 60_000))), "p/0", 10);
        assertThat(states.puts()).isZero();
    }

    @Test
    void extreme_costs_saturate() {
        for (Limit<?> limit : List.of(
                window(10, 60_000),
                log(10, 60_000),
                counter(10, 60_000),
                gcra(10, 60_000, 10),
                Samples.steps(1, 10, 1))) {
            Policy policy = policy("p-" + limit.getClass().getSimpleName(), limit);
            decide(consume(1, 0), policy);
            decide(settle(Long.MAX_VALUE, 0), policy);
            assertThat(decide(peek(1, 0), policy).retryAfterMs()).isPositive();
            decide(settle(Long.MIN_VALUE, 0), policy);
            decide(settle(Long.MIN_VALUE, 0), policy);
            assertThat(decide(peek(1, 0), policy).remaining()).isEqualTo(limit.capacity());
        }
    }
}
