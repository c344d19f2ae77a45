package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.idempotent;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.overridable;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Decision;
import dev.weir.event.LimitOverride;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests requests with a limit of their own. {@link DeciderModelTest} mixes them with others. */
class LimitOverrideTest {

    private static final long WINDOW_MS = 60_000;

    /** Both algorithms decide the rows alike: all are in one window, whose predecessor is unused. */
    private static final List<Limit<?>> WINDOWS = List.of(window(10, WINDOW_MS), counter(10, WINDOW_MS));

    private final MapStates states = new MapStates();

    private Decision decide(Request request, Policy... policies) {
        return (Decision) Decider.local(states).decide(request, table(policies));
    }

    private static Request with(long limit, Request request) {
        return request.withLimitOverride(new LimitOverride(limit, WINDOW_MS));
    }

    static Stream<Limit<?>> windows() {
        return WINDOWS.stream();
    }

    @ParameterizedTest
    @CsvSource({
        // in use, cost, override, windowMs, outcome, limit, remaining, reason
        "8, 1,   -,     -, ALLOWED, 10,  1, WITHIN_LIMITS",
        "8, 1,  20, 60000, ALLOWED, 20, 11, WITHIN_LIMITS",
        "8, 12, 20, 60000, ALLOWED, 20,  0, WITHIN_LIMITS",
        "8, 13, 20, 60000, DENIED,  20, 12, LIMIT_EXCEEDED",
        "8, 1,   5, 60000, DENIED,   5,  0, LIMIT_EXCEEDED",
        "8, 6,   5, 60000, DENIED,   5,  0, COST_NEVER_FITS",
        "8, 1,   9, 60000, ALLOWED,  9,  0, WITHIN_LIMITS",
        "8, 0,   0, 60000, ALLOWED,  0,  0, WITHIN_LIMITS",
        "8, 1,   0, 60000, DENIED,   0,  0, COST_NEVER_FITS",
        "0, 1,   0, 60000, DENIED,   0,  0, COST_NEVER_FITS",
        "8, 1,  20, 59999, ALLOWED, 10,  1, WITHIN_LIMITS",
        "8, 3,  20,  1000, DENIED,  10,  2, LIMIT_EXCEEDED"
    })
    void an_override_decides_by_its_number_and_the_usage_of_all(
            long inUse,
            long cost,
            String limit,
            String windowMs,
            Outcome outcome,
            long effective,
            long remaining,
            Reason reason) {
        for (Limit<?> window : WINDOWS) {
            MapStates fresh = new MapStates();
            Policy policy = overridable("p", window);
            Decider decider = Decider.local(fresh);
            decider.decide(consume(inUse, 1_000), table(policy));
            Request request = limit.equals("-")
                    ? consume(cost, 2_000)
                    : consume(cost, 2_000)
                            .withLimitOverride(new LimitOverride(Long.parseLong(limit), Long.parseLong(windowMs)));
            Decision decision = (Decision) decider.decide(request, table(policy));
            assertThat(decision.outcome()).isEqualTo(outcome);
            assertThat(decision.reason()).isEqualTo(reason);
            assertThat(decision.limit()).isEqualTo(effective);
            assertThat(decision.windowMs()).isEqualTo(WINDOW_MS);
            assertThat(decision.remaining()).isEqualTo(remaining);
            assertThat(decision.limitedBy()).isEqualTo("p/0 " + effective + "/w");
        }
    }

    @ParameterizedTest
    @MethodSource("windows")
    void usage_is_kept_when_the_number_changes_up_and_down(Limit<?> window) {
        Policy policy = overridable("p", window);
        assertThat(decide(with(100, consume(50, 1_000)), policy).remaining()).isEqualTo(50);
        assertThat(decide(consume(1, 2_000), policy).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(with(60, consume(1, 3_000)), policy).remaining()).isEqualTo(9);
        assertThat(decide(with(51, consume(1, 4_000)), policy).outcome()).isEqualTo(Outcome.DENIED);
        Decision last = decide(with(1_000, consume(1, 5_000)), policy);
        assertThat(last.remaining()).isEqualTo(948);
        assertThat(states.of("c", "p").accounts().get(0).used(5_000)).isEqualTo(52);
    }

    @ParameterizedTest
    @MethodSource("windows")
    void the_stored_state_does_not_depend_on_the_override(Limit<?> window) {
        Policy policy = overridable("p", window);
        MapStates others = new MapStates();
        decide(with(100, consume(3, 1_000)), policy);
        Decider.local(others).decide(consume(3, 1_000), table(policy));
        assertThat(states.of("c", "p")).isEqualTo(others.of("c", "p"));
        assertThat(states.of("c", "p").accounts().get(0).limit()).isEqualTo(window);
    }

    @Test
    void a_denial_says_when_the_number_of_the_request_permits_it() {
        Policy policy = overridable("p", window(10, WINDOW_MS));
        decide(with(50, consume(30, 1_000)), policy);
        Decision denied = decide(with(20, consume(5, 2_000)), policy);
        assertThat(denied.retryAfterMs()).isEqualTo(58_000);
        assertThat(denied.resetAfterMs()).isEqualTo(58_000);
        assertThat(decide(with(20, consume(5, 60_000)), policy).remaining()).isEqualTo(15);
    }

    @Test
    void a_counter_weighs_the_previous_window_whatever_number_admitted_it() {
        Policy policy = overridable("p", counter(10, WINDOW_MS));
        decide(with(100, consume(100, 1_000)), policy);
        assertThat(decide(consume(1, 61_000), policy).outcome()).isEqualTo(Outcome.DENIED);
        Decision half = decide(with(100, consume(1, 90_000)), policy);
        assertThat(half.remaining()).isEqualTo(49);
        assertThat(decide(consume(1, 115_000), policy).remaining()).isZero();
    }

    @Test
    void of_several_limits_those_with_the_same_window_are_overridden() {
        Policy policy = overridable("p", window(10, 1_000), window(100, WINDOW_MS), counter(200, WINDOW_MS));
        Decision decision = decide(with(30, consume(8, 500)), policy);
        assertThat(decision.limitedBy()).isEqualTo("p/0 10/w");
        assertThat(decision.remaining()).isEqualTo(2);
        Decision later = decide(with(9, consume(1, 1_500)), policy);
        assertThat(later.limitedBy()).isEqualTo("p/1 9/w");
        assertThat(later.remaining()).isZero();
        assertThat(decide(with(8, consume(1, 2_500)), policy).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void policies_that_do_not_allow_it_ignore_it() {
        Policy strict = policy("strict", window(10, WINDOW_MS));
        Policy lenient = inLayer("other", overridable("lenient", window(10, WINDOW_MS)));
        assertThat(decide(with(50, consume(11, 1_000)), lenient).outcome()).isEqualTo(Outcome.ALLOWED);
        Decision denied = decide(with(50, consume(11, 1_000)), strict, lenient);
        assertThat(denied.policyId()).isEqualTo("strict");
        assertThat(denied.limit()).isEqualTo(10);
        assertThat(states.of("c", "lenient").accounts().get(0).used(1_000)).isEqualTo(11);
    }

    @Test
    void a_peek_uses_it_and_charges_nothing() {
        Policy policy = overridable("p", window(10, WINDOW_MS));
        assertThat(decide(with(50, peek(40, 1_000)), policy).remaining()).isEqualTo(50);
        assertThat(decide(peek(40, 1_000), policy).reason()).isEqualTo(Reason.COST_NEVER_FITS);
        assertThat(states.of("c", "p")).isNull();
    }

    @Test
    void a_settlement_is_bounded_by_its_own_number() {
        Policy policy = overridable("p", window(10, WINDOW_MS)); // max-debt is 10
        decide(with(50, consume(40, 1_000)), policy);
        decide(settle(5, 1_000), policy);
        assertThat(states.of("c", "p").accounts().get(0).used(1_000)).isEqualTo(40);
        assertThat(decide(with(50, settle(5, 1_000)), policy).remaining()).isEqualTo(5);
        decide(with(50, settle(500, 1_000)), policy);
        assertThat(states.of("c", "p").accounts().get(0).used(1_000)).isEqualTo(60);
        assertThat(decide(with(50, settle(-20, 1_000)), policy).remaining()).isEqualTo(10);
    }

    @Test
    void a_reset_frees_what_any_number_admitted() {
        Policy policy = overridable("p", counter(10, WINDOW_MS));
        decide(with(50, consume(40, 1_000)), policy);
        assertThat(decide(Samples.of(RequestKind.RESET, 1, 1_000), policy).remaining())
                .isEqualTo(10);
        assertThat(decide(consume(10, 1_000), policy).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void denials_that_count_are_bounded_by_the_number_of_the_request() {
        Policy policy = overridable("p", Samples.windowCountingDenied(10, WINDOW_MS));
        decide(with(3, consume(3, 1_000)), policy);
        for (int i = 0; i < 9; i++) {
            decide(with(3, consume(3, 1_000)), policy);
        }
        assertThat(states.of("c", "p").accounts().get(0).used(1_000)).isEqualTo(6);
    }

    @Test
    void throttling_delays_to_the_window_that_permits_the_number() {
        Policy policy = onExceed(new OnExceed.Throttle(600_000), overridable("p", window(10, WINDOW_MS)));
        assertThat(decide(with(2, consume(2, 1_000)), policy).delayMs()).isZero();
        assertThat(decide(with(2, consume(2, 1_000)), policy).delayMs()).isEqualTo(59_000);
        assertThat(decide(with(9, consume(2, 1_000)), policy).delayMs()).isEqualTo(59_000);
        assertThat(decide(with(2, consume(1, 1_000)), policy).delayMs()).isEqualTo(119_000);
    }

    @Test
    void an_observing_policy_judges_by_the_number_of_the_request() {
        Policy policy = onExceed(OnExceed.OBSERVE, overridable("p", window(10, WINDOW_MS)));
        assertThat(decide(with(50, consume(40, 1_000)), policy).observed()).isFalse();
        assertThat(decide(with(5, consume(1, 1_000)), policy).observed()).isTrue();
    }

    @Test
    void a_repeat_with_another_override_has_another_content() {
        Policy policy = idempotent(600_000, overridable("p", window(10, WINDOW_MS)));
        decide(with(50, consume(5, 1_000)), policy);
        assertThat(decide(with(50, consume(5, 1_000)), policy).repeated()).isTrue();
        assertThat(decide(with(51, consume(5, 1_000)), policy).reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
        assertThat(decide(consume(5, 1_000), policy).reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
    }

    @ParameterizedTest
    @MethodSource("windows")
    void a_changed_policy_keeps_all_usage_while_it_allows_overrides(Limit<?> window) {
        decide(with(1_000, consume(900, 1_000)), overridable("p", window));
        Limit<?> changed = window instanceof FixedWindow ? window(20, WINDOW_MS) : counter(20, WINDOW_MS);
        assertThat(decide(with(1_000, peek(1, 2_000)), overridable("p", changed))
                        .remaining())
                .isEqualTo(100);
        assertThat(decide(with(1_000, peek(1, 2_000)), overridable("p", WINDOWS.get(1)))
                        .remaining())
                .as("under another algorithm")
                .isEqualTo(100);
    }

    @Test
    void a_change_to_limits_without_overrides_bounds_the_wait_as_ever() {
        decide(with(1_000, consume(900, 1_000)), overridable("p", counter(10, WINDOW_MS)));
        Decision denied = decide(consume(1, 2_000), policy("p", counter(20, WINDOW_MS)));
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.retryAfterMs()).isLessThanOrEqualTo(2 * WINDOW_MS);
    }

    @Test
    void only_limits_that_can_be_overridden_allow_it() {
        for (Limit<?> limit : List.of(
                gcra(5, 1_000, 5),
                Samples.log(5, 1_000),
                Samples.calendar(5, CalendarPeriod.DAY, "UTC"),
                new Unlimited(),
                new Blocked())) {
            assertThatThrownBy(() -> overridable("p", limit))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("allow-override requires limits above 0 of fixed-window, without a calendar"
                            + " period, or of sliding-window-counter, is 'p/0");
        }
    }

    @Test
    void a_shared_policy_cannot_allow_it() {
        assertThatThrownBy(() -> Samples.keyed(List.of(), overridable("p", window(10, WINDOW_MS))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("allow-override must not be true if the quota is shared: it is lent in leases, which do not"
                        + " depend on requests");
    }
}
