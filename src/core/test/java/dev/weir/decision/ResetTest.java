package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Limit;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests requests that free usage. {@link DeciderModelTest} mixes them with others. */
class ResetTest {

    private static final long NOW = 5_000;

    private final MapStates states = new MapStates();

    private Decision decide(Request request, Policy... policies) {
        return (Decision) Decider.local(states).decide(request, table(policies));
    }

    private static Request reset(long timestampMs) {
        return Samples.of(RequestKind.RESET, 1, timestampMs);
    }

    static List<Limit<?>> limits() {
        return List.of(window(3, 10_000), log(3, 10_000), counter(3, 10_000), tokens(3, 10_000, 3), gcra(3, 10_000, 3));
    }

    @ParameterizedTest
    @MethodSource("limits")
    void the_whole_limit_is_free_again(Limit<?> limit) {
        Policy policy = policy("p", limit);
        decide(consume(3, NOW), policy);
        assertThat(decide(consume(1, NOW), policy).outcome()).isEqualTo(Outcome.DENIED);
        Decision freed = decide(reset(NOW), policy);
        assertThat(freed.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(freed.reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(freed.remaining()).isEqualTo(3);
        assertThat(freed.httpStatus()).isEqualTo(200);
        assertThat(decide(consume(3, NOW), policy).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decide(consume(1, NOW), policy).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void every_layer_is_freed_and_observing_policies_too() {
        Policy hour = onExceed(OnExceed.OBSERVE, inLayer("hour", policy("hour", window(5, 3_600_000))));
        Policy minute = policy("minute", window(3, 60_000));
        decide(consume(3, NOW), hour, minute);
        decide(reset(NOW), hour, minute);
        assertThat(states.of("c", "hour").accounts().get(0).used(NOW)).isZero();
        assertThat(states.of("c", "minute").accounts().get(0).used(NOW)).isZero();
    }

    @Test
    void time_does_not_run_backwards() {
        Policy policy = policy("p", window(3, 10_000));
        decide(consume(3, 15_000), policy);
        assertThat(decide(reset(NOW), policy).decidedAtMs()).isEqualTo(15_000);
        assertThat(decide(consume(1, NOW), policy).decidedAtMs()).isEqualTo(15_000);
    }

    @Test
    void delayed_requests_that_have_not_started_no_longer_delay_others() {
        Policy policy = onExceed(new OnExceed.Throttle(60_000), policy("p", gcra(1, 1_000, 1)));
        for (int i = 0; i < 9; i++) {
            decide(consume(1, NOW), policy);
        }
        assertThat(decide(consume(1, NOW), policy).delayMs()).isEqualTo(9_000);
        Decision freed = decide(reset(NOW), policy);
        assertThat(freed.delayMs()).isNull();
        assertThat(freed.decidedAtMs()).isEqualTo(NOW);
        assertThat(decide(consume(1, NOW), policy).delayMs()).isZero();
    }

    @Test
    void neither_the_cost_nor_the_size_matters() {
        Policy policy = maxSize(10L, policy("p", window(3, 10_000)));
        decide(consume(3, NOW), policy);
        Request large = sized(1_000, Samples.of(RequestKind.RESET, 1_000_000, NOW));
        assertThat(decide(large, policy).reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(decide(consume(3, NOW), policy).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void shared_limits_are_freed_too() {
        Policy all = inLayer("all", keyed(List.of(), policy("all", window(5, 10_000))));
        Policy own = policy("own", window(3, 10_000));
        decide(consume(3, NOW), own, all);
        decide(consume(2, NOW), all);
        assertThat(decide(reset(NOW), own, all).reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(decide(consume(3, NOW), own, all).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decide(consume(3, NOW), all).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(reset(NOW), all).reason()).as("nothing else applies").isEqualTo(Reason.USAGE_RESET);
        assertThat(decide(consume(5, NOW), all).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    private static Request reset(String policyId) {
        return reset(NOW).withPolicyId(policyId);
    }

    @Test
    void a_named_policy_is_freed_alone() {
        Policy all = inLayer("all", keyed(List.of(), policy("all", window(5, 10_000))));
        Policy own = policy("own", window(3, 10_000));
        decide(consume(3, NOW), own, all);
        assertThat(decide(reset("own"), own, all))
                .returns(Reason.USAGE_RESET, Decision::reason)
                .returns("own", Decision::policyId)
                .returns(3L, Decision::remaining)
                .satisfies(freed -> assertThat(freed.limits()).hasSize(1));
        assertThat(decide(peek(3, NOW), all, own).policyId())
                .as("3 of 5 are still used by all")
                .isEqualTo("all");
        assertThat(decide(consume(2, NOW), own, all).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decide(reset("all"), own, all).remaining()).isEqualTo(5);
        assertThat(decide(peek(2, NOW), own, all).policyId())
                .as("2 of 3 are still used by own")
                .isEqualTo("own");
    }

    @Test
    void a_named_policy_can_be_one_that_observes() {
        Policy trial = onExceed(OnExceed.OBSERVE, inLayer("trial", policy("trial", window(3, 10_000))));
        Policy own = policy("own", window(5, 10_000));
        decide(consume(3, NOW), own, trial);
        assertThat(decide(reset("trial"), own, trial))
                .returns(Reason.USAGE_RESET, Decision::reason)
                .returns("trial", Decision::policyId)
                .returns(3L, Decision::remaining);
        assertThat(decide(consume(2, NOW), own, trial).observed()).isFalse();
        assertThat(decide(consume(1, NOW), own, trial).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_policy_that_does_not_apply_is_named_and_nothing_changes() {
        Policy other = policy("other", "other", 0, Samples.match("tier", "gold"), window(3, 10_000));
        Policy own = policy("own", window(3, 10_000));
        decide(consume(3, NOW), own);
        for (String name : List.of("other", "unknown")) {
            assertThat(decide(reset(name), own, other))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns(Reason.POLICY_NOT_APPLICABLE, Decision::reason)
                    .returns(404, Decision::httpStatus)
                    .returns(name, Decision::limitedBy)
                    .returns(null, Decision::policyId)
                    .returns(null, Decision::retryAfterMs)
                    .returns(NOW, Decision::decidedAtMs);
        }
        assertThat(decide(consume(1, NOW), own).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_repeated_reset_of_another_policy_is_a_mismatch() {
        Policy day = inLayer("day", Samples.idempotent(60_000, policy("day", window(5, 10_000))));
        Policy own = Samples.idempotent(60_000, policy("own", window(3, 10_000)));
        assertThat(decide(reset("own"), own, day).reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(decide(reset("own"), own, day).repeated()).isTrue();
        assertThat(decide(reset("day"), own, day).reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
    }

    @Test
    void without_usage_nothing_is_stored() {
        Policy policy = policy("p", window(3, 10_000));
        assertThat(decide(reset(NOW), policy).remaining()).isEqualTo(3);
        assertThat(states.of("c", "p")).isNull();
        assertThat(decide(reset(NOW)).reason()).isEqualTo(Reason.NO_POLICY);
    }
}
