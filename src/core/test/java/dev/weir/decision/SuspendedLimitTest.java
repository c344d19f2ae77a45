package dev.weir.decision;

import static dev.weir.decision.Samples.calendar;
import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.overridable;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.Decision;
import dev.weir.event.LimitOverride;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests limits that are set to 0 or unlimited for a time: what is denied or unlimited changes no usage, of no algorithm.
 */
class SuspendedLimitTest {

    private static final long NOW = 1_000_000;
    private static final long MONTH_MS = 2_678_400_000L;

    private final MapStates states = new MapStates();

    private static Decision decide(MapStates states, Request request, Policy... policies) {
        return (Decision) Decider.local(states).decide(request, table(policies));
    }

    private Decision decide(Request request, Policy... policies) {
        return decide(states, request, policies);
    }

    static List<Limit<?>> limits() {
        return List.of(
                window(100, MONTH_MS),
                calendar(100, CalendarPeriod.MONTH, "UTC"),
                log(100, MONTH_MS),
                counter(100, MONTH_MS),
                new SlidingWindowCounter(100, MONTH_MS, true, false),
                tokens(100, MONTH_MS, 100),
                leaky(100, MONTH_MS, 100),
                gcra(100, MONTH_MS, 100),
                steps(100, MONTH_MS, 100),
                new FixedWindow(100, MONTH_MS, true),
                new SlidingWindowLog(100, MONTH_MS, true));
    }

    @ParameterizedTest
    @MethodSource("limits")
    void usage_survives_a_suspension_whoever_asks_meanwhile(Limit<?> limit) {
        Policy policy = policy("p", limit);
        for (Limit<?> suspending : List.of(new Blocked(), new Unlimited())) {
            states.all().clear();
            decide(consume(91, NOW), policy);
            for (int i = 0; i < 5; i++) {
                decide(consume(3, NOW + i), policy("p", suspending));
                decide(settle(7, NOW + i), policy("p", suspending));
                decide(settle(-7, NOW + i), policy("p", suspending));
            }
            Decision resumed = decide(consume(1, NOW + 5), policy);
            assertThat(resumed.outcome()).as("%s", suspending).isEqualTo(Outcome.ALLOWED);
            assertThat(resumed.remaining()).as("%s", suspending).isEqualTo(8);
        }
    }

    @ParameterizedTest
    @MethodSource("limits")
    void one_of_several_limits_is_suspended_while_others_count(Limit<?> limit) {
        Policy both = policy("p", limit, window(1_000, 60_000));
        decide(consume(91, NOW), both);
        Policy suspended = policy("p", new Unlimited(), window(1_000, 60_000));
        assertThat(decide(consume(500, NOW + 1), suspended).remaining()).isEqualTo(409);
        assertThat(decide(consume(1, NOW + 2), policy("p", new Blocked(), window(1_000, 60_000)))
                        .outcome())
                .isEqualTo(Outcome.DENIED);
        assertThat(decide(consume(1, NOW + 3), both).remaining()).isEqualTo(8);
        assertThat(states.of("c", "p").accounts().get(1).used(NOW + 3)).isEqualTo(592);
    }

    @Test
    void usage_that_expires_meanwhile_is_gone() {
        decide(consume(3, NOW), policy("p", log(3, 1_000)));
        decide(consume(1, NOW + 900), policy("p", new Blocked()));
        assertThat(decide(consume(1, NOW + 999), policy("p", log(3, 1_000))).outcome())
                .isEqualTo(Outcome.DENIED);
        assertThat(decide(consume(3, NOW + 1_000), policy("p", log(3, 1_000))).outcome())
                .isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void a_policy_that_counts_nothing_stores_nothing() {
        decide(consume(3, NOW), policy("p", log(3, 1_000)));
        PolicyState before = states.of("c", "p");
        int puts = states.puts();
        decide(consume(1, NOW), policy("p", new Unlimited(), new Unlimited()));
        decide(consume(1, NOW), policy("p", new Blocked()));
        decide(consume(1, NOW), inLayer("other", policy("new", new Unlimited())));
        assertThat(states.puts()).isEqualTo(puts);
        assertThat(states.of("c", "p")).isSameAs(before);
    }

    @Test
    void a_reset_frees_suspended_usage() {
        decide(consume(3, NOW), policy("p", log(3, MONTH_MS)));
        decide(Samples.of(RequestKind.RESET, 0, NOW), policy("p", new Blocked()));
        assertThat(decide(consume(3, NOW), policy("p", log(3, MONTH_MS))).outcome())
                .isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void a_limit_of_a_request_that_is_0_changes_no_usage() {
        Policy policy = overridable("p", window(100, 60_000));
        decide(consume(91, NOW), policy);
        LimitOverride none = new LimitOverride(0, 60_000);
        assertThat(decide(consume(1, NOW).withLimitOverride(none), policy).outcome())
                .isEqualTo(Outcome.DENIED);
        decide(consume(1, NOW).withLimitOverride(none), policy("p", new Blocked()));
        assertThat(decide(consume(1, NOW), policy).remaining()).isEqualTo(8);
    }

    @Test
    void delays_continue_where_they_were() {
        Policy policy = onExceed(new OnExceed.Throttle(60_000), policy("p", gcra(1, 1_000, 1)));
        for (int i = 0; i < 5; i++) {
            decide(consume(1, NOW), policy);
        }
        Policy suspended = onExceed(new OnExceed.Throttle(60_000), policy("p", new Unlimited()));
        decide(consume(9, NOW + 10), suspended);
        assertThat(decide(consume(1, NOW + 10), policy).delayMs()).isEqualTo(4_990);
    }

    /** Delays all requests of this cost but the first, by a second each. */
    private static Policy pace(String id, long cost) {
        return inLayer(id, onExceed(new OnExceed.Throttle(60_000), policy(id, gcra(cost, 1_000, cost))));
    }

    @ParameterizedTest
    @MethodSource("limits")
    void a_request_that_is_delayed_while_one_limit_is_unlimited_is_not_charged_to_it(Limit<?> limit) {
        Limit<?> other = window(1_000_000, 3_600_000);
        Policy both = policy("p", limit, other);
        Policy suspended = policy("p", new Unlimited(), other);
        for (long resumedMs : new long[] {NOW + 100, NOW + 5_000}) { // before and after the starts
            states.all().clear();
            decide(consume(91, NOW), both);
            for (int i = 0; i < 3; i++) {
                assertThat(decide(consume(4, NOW + 1), suspended, pace("while", 4))
                                .delayMs())
                        .isEqualTo(1_000L * i);
            }
            assertThat(decide(peek(9, resumedMs), both).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decide(consume(1, resumedMs), both).remaining()).isEqualTo(8);
        }
    }

    @ParameterizedTest
    @MethodSource("limits")
    void a_first_request_that_is_delayed_while_one_limit_is_unlimited_is_not_charged_to_it(Limit<?> limit) {
        Limit<?> other = window(1_000_000, 3_600_000);
        decide(consume(4, NOW), policy("p", new Unlimited(), other), pace("while", 4));
        decide(consume(4, NOW), policy("p", new Unlimited(), other), pace("while", 4));
        decide(peek(1, NOW), policy("p", new Blocked(), other));
        assertThat(decide(consume(100, NOW + 100), policy("p", limit, other)).outcome())
                .isEqualTo(Outcome.ALLOWED);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void a_request_that_was_delayed_before_a_suspension_is_charged_at_its_start(Limit<?> limit) {
        Limit<?> other = window(1_000_000, 3_600_000);
        Policy both = policy("p", limit, other);
        for (long resumedMs : new long[] {NOW + 100, NOW + 5_000}) {
            states.all().clear();
            for (int i = 0; i < 3; i++) {
                decide(consume(30, NOW), both, pace("before", 30));
            }
            decide(consume(7, NOW + 2), policy("p", new Unlimited(), other), pace("while", 7));
            assertThat(decide(peek(11, resumedMs), both).outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decide(consume(1, resumedMs), both).remaining()).isEqualTo(9);
        }
    }

    /** Like {@link #what_happens_during_a_suspension_changes_no_later_decision}, beside a limit that goes on counting. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void what_is_delayed_during_a_suspension_changes_no_later_decision(long seed) {
        Random random = new Random(seed);
        int delayed = 0;
        for (int round = 0; round < Effort.times(150); round++) {
            MapStates twin = new MapStates();
            MapStates suspended = new MapStates();
            Limit<?> other = new FixedWindow(1L << 40, 86_400_000, false);
            Policy policy = with(other, randomPolicy(random));
            Policy pace = inLayer("pace", onExceed(new OnExceed.Throttle(200), policy("pace", gcra(5, 40, 6))));
            Policy paceWhile = inLayer("while", onExceed(new OnExceed.Throttle(400), policy("while", gcra(5, 60, 4))));
            long nowMs = NOW;
            for (int era = 0; era < 6; era++) {
                Policy suspending = with(other, policy("p", suspending(random).toArray(Limit<?>[]::new)));
                for (int i = random.nextInt(15); i > 0; i--) {
                    nowMs += random.nextInt(40);
                    Request request = random.nextBoolean()
                            ? consume(1 + random.nextInt(5), nowMs)
                            : peek(1 + random.nextInt(5), nowMs);
                    Policy[] policies = random.nextBoolean() ? new Policy[] {policy} : new Policy[] {policy, pace};
                    Decision expected = decide(twin, request, policies);
                    Decision decided = decide(suspended, request, policies);
                    assertThat(shown(decided))
                            .as("seed %d, round %d, era %d, %s", seed, round, era, policy)
                            .isEqualTo(shown(expected));
                    delayed += expected.delayMs() != null && expected.delayMs() > 0 ? 1 : 0;
                }
                for (int i = random.nextInt(8); i > 0; i--) {
                    nowMs += random.nextInt(10);
                    decide(suspended, consume(1 + random.nextInt(4), nowMs), suspending, paceWhile);
                }
            }
        }
        assertThat(delayed).isGreaterThan(Effort.times(60));
    }

    private static Policy with(Limit<?> other, Policy policy) {
        List<Limit<?>> limits = new ArrayList<>(policy.limits());
        limits.add(other);
        return policy(policy.id(), limits.toArray(Limit<?>[]::new));
    }

    /** Returns what does not depend on the limit that goes on counting. */
    private static List<Object> shown(Decision decision) {
        return Arrays.asList(
                decision.outcome(),
                decision.reason(),
                decision.limitedBy(),
                decision.remaining(),
                decision.resetAfterMs(),
                decision.retryAfterMs(),
                decision.delayMs());
    }

    /**
     * With random limits and requests: the decisions after a suspension are those of a twin that gets no request during
     * the suspension.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void what_happens_during_a_suspension_changes_no_later_decision(long seed) {
        Random random = new Random(seed);
        int denied = 0;
        for (int round = 0; round < Effort.times(150); round++) {
            MapStates twin = new MapStates();
            MapStates suspended = new MapStates();
            Policy policy = randomPolicy(random);
            long nowMs = NOW;
            for (int era = 0; era < 6; era++) {
                Policy suspending = policy("p", suspending(random).toArray(Limit<?>[]::new));
                for (int i = random.nextInt(15); i > 0; i--) {
                    nowMs += random.nextInt(40);
                    Request request = randomRequest(random, nowMs);
                    Decision expected = decide(twin, request, policy);
                    assertThat(decide(suspended, request, policy))
                            .as("seed %d, round %d, %s", seed, round, policy)
                            .isEqualTo(expected);
                    denied += expected.outcome() == Outcome.DENIED ? 1 : 0;
                }
                for (int i = random.nextInt(8); i > 0; i--) {
                    nowMs += random.nextInt(10);
                    decide(suspended, randomRequest(random, nowMs), suspending);
                }
            }
        }
        assertThat(denied).isGreaterThan(Effort.times(100));
    }

    private static List<Limit<?>> suspending(Random random) {
        List<Limit<?>> limits = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            limits.add(random.nextBoolean() ? new Unlimited() : new Blocked());
        }
        return limits;
    }

    private static Request randomRequest(Random random, long nowMs) {
        return switch (random.nextInt(8)) {
            case 0 -> settle(random.nextInt(21) - 10L, nowMs);
            case 1 -> peek(1 + random.nextInt(9), nowMs);
            default -> consume(1 + random.nextInt(9), nowMs);
        };
    }

    private static Policy randomPolicy(Random random) {
        List<Limit<?>> limits = new ArrayList<>(List.of(
                window(30, 300),
                log(30, 250),
                log(40, 500),
                counter(30, 200),
                tokens(3, 50, 30),
                leaky(3, 40, 25),
                gcra(3, 40, 20),
                steps(5, 60, 20),
                new FixedWindow(20, 150, true),
                new SlidingWindowLog(20, 150, true)));
        Collections.shuffle(limits, random);
        return policy("p", limits.subList(0, 1 + random.nextInt(4)).toArray(Limit<?>[]::new));
    }
}
