package dev.weir.decision;

import static dev.weir.decision.Samples.calendar;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class EnforcedLimitsTest {

    private final MapStates states = new MapStates();

    private Decision decide(long cost, Policy... policies) {
        Request request =
                Request.builder("r", "c").cost(cost).timestampMs(1_000).build();
        return (Decision) Decider.local(states).decide(request, PolicyTable.of(List.of(policies)));
    }

    static Stream<Arguments> limits() {
        return Stream.of(
                Arguments.of(window(100, 60_000), 100, 60_000L),
                Arguments.of(calendar(5, CalendarPeriod.DAY, "UTC"), 5, 86_400_000L),
                Arguments.of(gcra(600, 60_000, 1), 600, 60_000L),
                Arguments.of(gcra(600, 60_000, 600), 600, 60_000L),
                Arguments.of(tokens(10, 1_000, 5), 10, 1_000L),
                Arguments.of(tokens(10, 1_000, 95), 100, 10_000L),
                Arguments.of(leaky(7, 11_000, 8), 14, 22_000L),
                Arguments.of(steps(10, 1_000, 25), 30, 3_000L),
                Arguments.of(new Blocked(), 0, null));
    }

    /** A client that keeps to quota per window keeps the limit, and no more than the quota ever remains. */
    @ParameterizedTest
    @MethodSource("limits")
    void quota_and_window_are_the_rate(Limit<?> limit, long quota, Long windowMs) {
        EnforcedLimit only = decide(1, policy("p", limit)).limits().get(0);
        assertThat(only.quota()).isEqualTo(quota);
        assertThat(only.windowMs()).isEqualTo(windowMs);
        assertThat(only.remaining()).isBetween(0L, quota);
    }

    private static Policy in(String layer, Policy policy, OnExceed onExceed) {
        return Policy.builder(policy.id())
                .effective(policy.effective())
                .layer(layer)
                .match(policy.match())
                .key(policy.key())
                .terms(policy.terms())
                .onExceed(onExceed)
                .build();
    }

    @Test
    void each_limit_of_each_layer_is_listed_with_its_own_values() {
        Policy first =
                in("a", policy("first", window(10, 60_000), new Unlimited(), window(1_000, 86_400_000)), OnExceed.DENY);
        Policy second = in("b", policy("second", gcra(600, 60_000, 1)), OnExceed.DENY);
        Policy observing = in("c", policy("observing", window(1, 1_000)), OnExceed.OBSERVE);
        assertThat(decide(1, first, second, observing).limits())
                .containsExactly(
                        new EnforcedLimit("first", 1, 10, 60_000L, 9L, 59_000L, 0L),
                        new EnforcedLimit("first", 3, 1_000, 86_400_000L, 999L, 86_399_000L, 0L),
                        new EnforcedLimit("second", 1, 600, 60_000L, 0L, 100L, 0L));
        Decision denied = decide(1, first, second, observing);
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.limits())
                .containsExactly(
                        new EnforcedLimit("first", 1, 10, 60_000L, 9L, 59_000L, 0L),
                        new EnforcedLimit("first", 3, 1_000, 86_400_000L, 999L, 86_399_000L, 0L),
                        new EnforcedLimit("second", 1, 600, 60_000L, 0L, 100L, 100L));
    }

    @Test
    void a_cost_that_a_limit_never_permits_has_no_retry_time() {
        assertThat(decide(11, policy("p", window(10, 60_000), window(100, 60_000)))
                        .limits())
                .extracting(EnforcedLimit::retryAfterMs)
                .containsExactly(null, 0L);
    }

    @Test
    void a_limit_of_0_that_bans_secretly_is_not_listed() {
        Policy banned = in("a", policy("banned", new Blocked()), OnExceed.SHADOW_BAN);
        Policy other = in("b", policy("other", window(10, 60_000)), OnExceed.DENY);
        assertThat(decide(1, banned, other).limits())
                .extracting(EnforcedLimit::policyId)
                .containsExactly("other");
    }

    @Test
    void the_number_of_limits_is_bounded_and_those_that_refuse_are_kept() {
        List<Policy> policies = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            policies.add(in("layer" + (10 + i), policy("p" + i, window(i == 29 ? 1 : 100, 60_000)), OnExceed.DENY));
        }
        assertThat(decide(1, policies.toArray(Policy[]::new)).limits()).hasSize(EnforcedLimit.MOST);
        List<EnforcedLimit> denied = decide(1, policies.toArray(Policy[]::new)).limits();
        assertThat(denied).hasSize(EnforcedLimit.MOST);
        assertThat(denied.get(15)).isEqualTo(new EnforcedLimit("p29", 1, 1, 60_000L, 0L, 59_000L, 59_000L));
    }
}
