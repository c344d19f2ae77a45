package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.limit.Blocked;
import dev.weir.limit.Gcra;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that delays add up to the rate: requests start at times that the limits permit. */
class ThrottleTest {

    private final MapStates states = new MapStates();

    private static Policy throttle(long maxDelayMs, Policy policy) {
        return onExceed(new OnExceed.Throttle(maxDelayMs), policy);
    }

    private Decision decide(Request request, Policy... policies) {
        return (Decision) Decider.local(states).decide(request, table(policies));
    }

    @Test
    void simultaneous_requests_start_at_the_rate() {
        Policy policy = throttle(350, policy("p", gcra(10, 1_000, 1)));
        for (long delayMs : new long[] {0, 100, 200, 300}) {
            Decision decision = decide(consume(1, 5_000), policy);
            assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decision.delayMs()).isEqualTo(delayMs);
            assertThat(decision.reason()).isEqualTo(delayMs == 0 ? Reason.WITHIN_LIMITS : Reason.THROTTLED);
            assertThat(decision.decidedAtMs()).isEqualTo(5_000);
            assertThat(decision.remaining()).isZero();
            assertThat(decision.resetAfterMs()).isEqualTo(delayMs + 100);
            assertThat(decision.retryAfterMs()).isZero();
            assertThat(decision.httpStatus()).isEqualTo(200);
        }
        Decision denied = decide(consume(1, 5_000), policy);
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(denied.delayMs()).isNull();
        assertThat(denied.retryAfterMs()).isEqualTo(50);
        assertThat(denied.resetAfterMs()).isEqualTo(400);
        assertThat(denied.httpStatus()).isEqualTo(429);
        assertThat(decide(consume(1, 5_049), policy).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(consume(1, 5_050), policy).delayMs()).isEqualTo(350);
    }

    @Test
    void a_request_is_delayed_to_the_next_window_and_not_before_an_earlier_start() {
        Policy policy = throttle(10_000, policy("p", window(2, 1_000)));
        assertThat(decide(consume(2, 100), policy).delayMs()).isZero();
        Decision next = decide(consume(1, 200), policy);
        assertThat(next.delayMs()).isEqualTo(800);
        assertThat(next.remaining()).as("nothing is available now").isZero();
        assertThat(decide(consume(1, 300), policy).delayMs()).isEqualTo(700);
        assertThat(decide(consume(1, 400), policy).delayMs()).isEqualTo(1_600);
        assertThat(decide(consume(1, 1_500), policy).delayMs())
                .as("it must not overtake an earlier request")
                .isEqualTo(500);
    }

    @Test
    void peeks_settlements_and_costs_of_zero_are_not_delayed() {
        Policy policy = throttle(1_000, policy("p", gcra(10, 1_000, 1)));
        assertThat(decide(consume(2, 0), policy).reason()).isEqualTo(Reason.COST_NEVER_FITS);
        assertThat(decide(consume(1, 0), policy).delayMs()).isZero();
        assertThat(decide(consume(1, 0), policy).delayMs()).isEqualTo(100);
        int puts = states.puts();
        Decision peek = decide(peek(1, 0), policy);
        assertThat(peek.delayMs()).isEqualTo(200);
        assertThat(states.puts()).isEqualTo(puts);
        assertThat(decide(consume(0, 0), policy).delayMs()).isZero();
        Decision settled = decide(settle(1, 0), policy);
        assertThat(settled.reason()).isEqualTo(Reason.SETTLED);
        assertThat(settled.delayMs()).isNull();
        assertThat(decide(consume(1, 0), policy).delayMs())
                .as("the debt adds to the delay")
                .isEqualTo(300);
    }

    @Test
    void a_request_that_is_too_large_or_never_fits_is_denied_and_delays_nothing() {
        Policy policy = maxSize(10L, throttle(1_000, policy("p", gcra(10, 1_000, 1))));
        assertThat(decide(sized(11, consume(1, 0)), policy).httpStatus()).isEqualTo(413);
        Decision never = decide(consume(2, 0), throttle(1_000, policy("q", gcra(10, 1_000, 1), new Blocked())));
        assertThat(never.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(never.retryAfterMs()).isNull();
        assertThat(states.puts()).isZero();
    }

    @Test
    void a_layer_that_denies_counts_delayed_requests_at_their_starts() {
        Policy throttling = throttle(10_000, policy("t", gcra(1, 1_000, 1)));
        Policy denying = inLayer("other", policy("d", window(3, 60_000)));
        assertThat(decide(consume(1, 0), throttling, denying).delayMs()).isZero();
        assertThat(decide(consume(1, 0), throttling, denying).delayMs()).isEqualTo(1_000);
        Decision third = decide(consume(1, 0), throttling, denying);
        assertThat(third.delayMs()).isEqualTo(2_000);
        Decision refused = decide(consume(1, 0), throttling, denying);
        assertThat(refused.policyId()).isEqualTo("d");
        assertThat(refused.decidedAtMs()).isZero();
        assertThat(refused.retryAfterMs()).isEqualTo(60_000);
        assertThat(decide(peek(1, 0), throttling).delayMs())
                .as("a refused request delays nothing")
                .isEqualTo(3_000);
    }

    @Test
    void two_throttling_policies_delay_together_and_the_shorter_max_delay_denies() {
        Policy slow = throttle(10_000, policy("slow", gcra(1, 1_000, 1)));
        Policy fast = inLayer("other", throttle(500, policy("fast", gcra(10, 1_000, 1))));
        assertThat(decide(consume(1, 0), slow, fast).delayMs()).isZero();
        Decision denied = decide(consume(1, 0), slow, fast);
        assertThat(denied.policyId()).isEqualTo("fast");
        assertThat(denied.retryAfterMs()).isEqualTo(500);
        assertThat(decide(consume(1, 499), slow, fast).outcome()).isEqualTo(Outcome.DENIED);
        Decision putOff = decide(consume(1, 500), slow, fast);
        assertThat(putOff.delayMs()).isEqualTo(500);
        assertThat(putOff.policyId()).isEqualTo("slow");
        assertThat(decide(consume(1, 1_000), fast).delayMs())
                .as("fast charges it at its start")
                .isEqualTo(100);
    }

    @Test
    void a_time_before_the_last_request_is_that_of_the_last_request() {
        Policy policy = throttle(500, policy("p", gcra(1_000, 1_000, 1_000)));
        assertThat(decide(consume(1, 10_000), policy).delayMs()).isZero();
        Decision late = decide(consume(1, 1_000), policy);
        assertThat(late.delayMs()).isZero();
        assertThat(late.decidedAtMs()).isEqualTo(10_000);
    }

    @Test
    void a_policy_that_stops_throttling_does_not_advance_the_time_of_others() {
        Policy throttling = throttle(3_600_000, policy("a", gcra(1, 60_000, 1)));
        Policy beside = inLayer("beside", policy("b", window(10, 60_000)));
        for (int i = 0; i < 4; i++) {
            assertThat(decide(consume(1, 0), throttling, beside).delayMs()).isEqualTo(60_000L * i);
        }
        Policy lifted = policy("a", gcra(1, 60_000, 1));
        Decision denied = decide(consume(1, 1_000), lifted, beside);
        assertThat(denied.decidedAtMs()).isEqualTo(1_000);
        assertThat(denied.retryAfterMs()).isEqualTo(239_000);
        assertThat(decide(consume(1, 60_000), beside).remaining())
                .as("a minute later, when one of the delayed requests starts")
                .isEqualTo(8);
        assertThat(decide(peek(1, 239_999), lifted).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(peek(1, 240_000), lifted).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void a_request_for_a_queue_is_denied_if_it_would_be_delayed() {
        Policy slow = onExceed(new OnExceed.Throttle(86_400_000), policy("slow", tokens(1, 10_000, 1)));
        Policy waits = inLayer("queues", onExceed(new OnExceed.Shape("sms"), policy("waits", new Blocked())));
        int queued = 0;
        for (int i = 0; i < 6; i++) {
            DecisionResult result = Decider.local(states).decide(consume(1, 50L * i), table(slow, waits));
            if (result instanceof Decision denied) {
                assertThat(denied)
                        .returns(Outcome.DENIED, Decision::outcome)
                        .returns(Reason.LIMIT_EXCEEDED, Decision::reason)
                        .returns("slow", Decision::policyId)
                        .returns(10_000 - 50L * i, Decision::retryAfterMs);
            } else {
                queued++;
            }
        }
        assertThat(queued).isEqualTo(1);
        assertThat(Decider.local(states).decide(consume(1, 10_000), table(slow, waits)))
                .isInstanceOf(Admission.class);
    }

    @Test
    void a_cost_that_never_fits_is_denied_by_the_limit_that_it_does_not_fit() {
        Policy large = onExceed(new OnExceed.Throttle(86_400_000), policy("large", tokens(10, 10_000, 10)));
        Policy small = inLayer("small", onExceed(new OnExceed.Throttle(1_000), policy("small", tokens(1, 1_000, 1))));
        Policy waits = inLayer("queues", onExceed(new OnExceed.Shape("sms"), policy("waits", new Blocked())));
        for (List<Policy> policies : List.of(List.of(large, small), List.of(large, small, waits))) {
            assertThat(decide(consume(2, 0), policies.toArray(Policy[]::new)))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns(Reason.COST_NEVER_FITS, Decision::reason)
                    .returns("small", Decision::policyId)
                    .returns(null, Decision::retryAfterMs);
        }
    }

    @Test
    void without_a_limit_nothing_is_delayed() {
        Policy policy = throttle(1_000, policy("p", new Unlimited()));
        assertThat(decide(consume(1, 0), policy).delayMs()).isZero();
        assertThat(decide(consume(1, 0), policy).limit()).isNull();
    }

    @Test
    void after_limits_are_removed_the_next_request_starts_no_earlier_than_the_last() {
        Policy limited = throttle(1_000, policy("p", gcra(10, 1_000, 1)));
        Policy lifted = throttle(1_000, policy("p", new Unlimited()));
        for (long delayMs : new long[] {0, 100, 200}) {
            assertThat(decide(consume(1, 0), limited).delayMs()).isEqualTo(delayMs);
        }
        Decision next = decide(consume(1, 50), lifted);
        assertThat(next.reason()).isEqualTo(Reason.THROTTLED);
        assertThat(next.delayMs()).isEqualTo(150);
        assertThat(next.limitedBy()).isNull();
        assertThat(next.limit()).isNull();
        assertThat(next.remaining()).isNull();
        Decision denied = decide(consume(1, 50), throttle(100, policy("p", new Unlimited())));
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.retryAfterMs()).isEqualTo(50);
        assertThat(denied.limit()).isNull();
        assertThat(decide(consume(1, 200), lifted).delayMs()).isZero();
    }

    @Test
    void a_limit_binds_before_an_unlimited_one() {
        Policy policy = throttle(100, policy("p", new Unlimited(), gcra(10, 1_000, 1), new Unlimited()));
        for (long delayMs : new long[] {0, 100}) {
            Decision decision = decide(consume(1, 0), policy);
            assertThat(decision.delayMs()).isEqualTo(delayMs);
            assertThat(decision.limitedBy()).isEqualTo("p/1");
        }
        Policy wider = throttle(50, policy("p", new Unlimited(), gcra(10, 1_000, 9), new Unlimited()));
        Decision denied = decide(consume(1, 0), wider);
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.limitedBy()).isEqualTo("p/1");
        assertThat(denied.limit()).isEqualTo(9);
    }

    @Test
    void denials_and_settlements_do_not_advance_the_time_of_others() {
        Policy quick = throttle(500, policy("quick", counting(gcra(100, 1_000, 100))));
        Policy slow = inLayer("other", throttle(10_000, policy("slow", gcra(1, 9_000, 1))));
        decide(consume(1, 0), slow);
        assertThat(decide(consume(1, 0), slow).delayMs()).isEqualTo(9_000);
        assertThat(decide(consume(1, 0), quick, slow).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(settle(1, 0), quick, slow).reason()).isEqualTo(Reason.SETTLED);
        Decision decision = decide(consume(1, 0), quick);
        assertThat(decision.delayMs()).isZero();
        assertThat(decision.remaining()).as("both were counted").isEqualTo(97);
        Policy changed = throttle(500, policy("quick", gcra(50, 1_000, 100)));
        assertThat(decide(consume(1, 0), changed, slow).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(consume(1, 0), changed).delayMs())
                .as("the denial stored the changed terms")
                .isZero();
    }

    @Test
    void a_counted_denial_is_part_of_its_own_retry() {
        Policy policy = throttle(1_000, policy("p", counting(gcra(1, 1_000, 1))));
        decide(consume(1, 0), policy);
        assertThat(decide(consume(1, 0), policy).delayMs()).isEqualTo(1_000);
        assertThat(decide(consume(1, 0), policy).retryAfterMs()).isEqualTo(2_000);
        assertThat(decide(peek(1, 1_999), policy).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(peek(1, 2_000), policy).delayMs()).isEqualTo(1_000);
    }

    /** Over two layers that throttle, whichever limits count denied requests. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void the_retry_is_exact_where_denials_count(long seed) {
        Random random = new Random(seed);
        int denied = 0;
        for (int trial = 0; trial < 60; trial++) {
            Policy[] policies = {randomCounting("p", random), inLayer("other", randomCounting("q", random))};
            MapStates counted = new MapStates();
            long nowMs = 1_000;
            for (int i = 0; i < 100; i++) {
                nowMs += random.nextLong(random.nextInt(4) == 0 ? 40 : 3);
                long cost = 1 + random.nextLong(2);
                Decision decision = (Decision) Decider.local(counted).decide(consume(cost, nowMs), table(policies));
                if (decision.retryAfterMs() != null && decision.retryAfterMs() > 0) {
                    long retryMs = nowMs + decision.retryAfterMs();
                    assertThat(((Decision) Decider.local(counted).decide(peek(cost, retryMs - 1), table(policies)))
                                    .outcome())
                            .isEqualTo(Outcome.DENIED);
                    assertThat(((Decision) Decider.local(counted).decide(peek(cost, retryMs), table(policies)))
                                    .outcome())
                            .isEqualTo(Outcome.ALLOWED);
                    denied++;
                }
            }
        }
        assertThat(denied).isGreaterThan(500);
    }

    private static Policy randomCounting(String id, Random random) {
        Limit<?>[] limits = new Limit<?>[1 + random.nextInt(2)];
        for (int i = 0; i < limits.length; i++) {
            limits[i] = random.nextBoolean()
                    ? counting(gcra(1 + random.nextLong(6), 5 + random.nextLong(40), 1 + random.nextLong(8)))
                    : randomLimit(random);
        }
        return throttle(1 + random.nextLong(60), policy(id, limits));
    }

    private static Gcra counting(Gcra limit) {
        return new Gcra(limit.rate(), limit.burst(), true);
    }

    /**
     * Each start is one that the same limits permit, no earlier start would be, and a denied request would start
     * too late.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void starts_are_those_that_the_limits_permit(long seed) {
        Random random = new Random(seed);
        int putOff = 0;
        int denied = 0;
        for (int trial = 0; trial < 60; trial++) {
            Limit<?>[] limits = new Limit<?>[1 + random.nextInt(3)];
            for (int i = 0; i < limits.length; i++) {
                limits[i] = randomLimit(random);
            }
            long maxDelayMs = 1 + random.nextLong(60);
            Policy enforcing = policy("p", limits);
            Policy throttling = throttle(maxDelayMs, enforcing);
            MapStates throttled = new MapStates();
            MapStates replay = new MapStates();
            long nowMs = 1_000;
            long lastStartMs = 0;
            for (int i = 0; i < 200; i++) {
                nowMs += random.nextLong(random.nextInt(4) == 0 ? 40 : 3);
                long cost = 1 + random.nextLong(3);
                Decision decision = (Decision) Decider.local(throttled).decide(consume(cost, nowMs), table(throttling));
                if (decision.outcome() == Outcome.ALLOWED) {
                    long startMs = nowMs + decision.delayMs();
                    assertThat(decision.delayMs()).isLessThanOrEqualTo(maxDelayMs);
                    assertThat(startMs).isGreaterThanOrEqualTo(lastStartMs);
                    if (startMs > Math.max(nowMs, lastStartMs)) {
                        assertThat(outcome(peek(cost, startMs - 1), enforcing, replay))
                                .isEqualTo(Outcome.DENIED);
                        putOff++;
                    }
                    assertThat(outcome(consume(cost, startMs), enforcing, replay))
                            .isEqualTo(Outcome.ALLOWED);
                    lastStartMs = startMs;
                } else {
                    long latestMs = nowMs + maxDelayMs;
                    if (latestMs >= lastStartMs) {
                        assertThat(outcome(peek(cost, latestMs), enforcing, replay))
                                .isEqualTo(Outcome.DENIED);
                    }
                    if (decision.retryAfterMs() != null) {
                        long retryMs = nowMs + decision.retryAfterMs();
                        assertThat(outcome(peek(cost, retryMs - 1), throttling, throttled))
                                .isEqualTo(Outcome.DENIED);
                        assertThat(outcome(peek(cost, retryMs), throttling, throttled))
                                .isEqualTo(Outcome.ALLOWED);
                    }
                    denied++;
                }
            }
        }
        assertThat(putOff).isGreaterThan(1_000);
        assertThat(denied).isGreaterThan(1_000);
    }

    private static Outcome outcome(Request request, Policy policy, MapStates states) {
        return ((Decision) Decider.local(states).decide(request, table(policy))).outcome();
    }

    private static Limit<?> randomLimit(Random random) {
        long limit = 1 + random.nextLong(6);
        long perMs = 5 + random.nextLong(40);
        long burst = 1 + random.nextLong(8);
        List<Limit<?>> all = new ArrayList<>(List.of(
                window(limit, perMs),
                log(limit, perMs),
                counter(limit, perMs),
                tokens(limit, perMs, burst),
                leaky(limit, perMs, burst),
                gcra(limit, perMs, burst),
                steps(limit, perMs, burst)));
        return all.get(random.nextInt(all.size()));
    }
}
