package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitOracle;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests that delayed requests keep the limits of all layers at their starts, and that others pass between them. */
class ThrottledLayersTest {

    private static final int TABLES = 80;
    private static final int REQUESTS = 60;

    private final MapStates states = new MapStates();

    private Decision decide(Request request, Policy... policies) {
        return (Decision) Decider.local(states).decide(request, table(policies));
    }

    private static Policy throttle(long maxDelayMs, Policy policy) {
        return onExceed(new OnExceed.Throttle(maxDelayMs), policy);
    }

    @Test
    void a_delayed_request_is_denied_if_another_layer_does_not_permit_it_at_its_start() {
        Policy smooth = throttle(60_000, policy("smooth", window(2, 10_000)));
        Policy strict = inLayer("strict", policy("strict", log(1, 1_000)));
        assertThat(decide(consume(1, 0), smooth, strict).delayMs()).isZero();
        assertThat(decide(consume(1, 1_000), smooth, strict).delayMs()).isZero();
        assertThat(decide(consume(1, 2_000), smooth, strict).delayMs()).isEqualTo(8_000);
        for (Request request : List.of(peek(1, 3_000), consume(1, 3_000))) {
            assertThat(decide(request, smooth, strict))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns("strict", Decision::policyId)
                    .returns(0L, Decision::remaining)
                    .returns(8_000L, Decision::retryAfterMs);
        }
        assertThat(decide(peek(1, 10_999), smooth, strict).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decide(peek(1, 11_000), smooth, strict).delayMs()).isZero();
    }

    @Test
    void a_request_that_is_not_delayed_passes_before_delayed_ones_if_these_still_fit() {
        Policy smooth =
                inLayer("smooth", throttle(60_000, policy("smooth", "a", 0, match("tier", "s"), gcra(1, 1_000, 1))));
        Policy all = policy("all", window(5, 10_000));
        for (int i = 0; i < 3; i++) {
            assertThat(decide(of("s", i), smooth, all).delayMs()).isEqualTo(i * 999L);
        }
        assertThat(decide(of("other", 10), smooth, all))
                .returns(Outcome.ALLOWED, Decision::outcome)
                .returns(1L, Decision::remaining)
                .returns(10L, Decision::decidedAtMs);
        assertThat(decide(of("other", 11), smooth, all).remaining()).isZero();
        assertThat(decide(of("other", 12), smooth, all))
                .returns("all", Decision::policyId)
                .returns(9_988L, Decision::retryAfterMs);
        assertThat(decide(of("other", 10_000), smooth, all).remaining()).isEqualTo(4);
    }

    /** Otherwise the state would refer to segments of its log that were deleted. */
    @Test
    void a_denial_after_the_start_of_a_delayed_request_changes_no_segment() {
        Policy smooth =
                inLayer("smooth", throttle(1_099, policy("smooth", "a", 0, match("tier", "s"), gcra(1, 1_100, 1))));
        Policy all = policy("all", log(1_000, 1_000));
        decide(of("s", 0), smooth, all);
        assertThat(decide(of("s", 1), smooth, all).delayMs()).isEqualTo(1_099);
        for (int i = 0; i < 100; i++) { // several segments, of which the window has left the first at 1,100
            decide(of("other", i < 40 ? 2 + i : 400 + i), smooth, all);
        }
        assertThat(decide(of("s", 1_100), smooth, all))
                .returns(Outcome.DENIED, Decision::outcome)
                .returns("smooth", Decision::policyId);
        assertThat(decide(of("other", 1_101), smooth, all))
                .returns(Outcome.ALLOWED, Decision::outcome)
                .returns(938L, Decision::remaining);
    }

    @Test
    void a_reset_also_frees_delayed_requests() {
        Policy smooth = inLayer("smooth", throttle(60_000, policy("smooth", gcra(1, 1_000, 1))));
        Policy all = policy("all", window(3, 10_000));
        for (int i = 0; i < 3; i++) {
            decide(consume(1, 0), smooth, all);
        }
        assertThat(decide(consume(1, 0), smooth, all).policyId()).isEqualTo("all");
        decide(Samples.of(RequestKind.RESET, 0, 5), smooth, all);
        assertThat(states.of("c", "all").delayed()).isEmpty();
        assertThat(decide(peek(3, 5), all).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void the_number_of_delayed_requests_under_another_policy_is_bounded() {
        Policy smooth = inLayer("smooth", throttle(86_400_000, policy("smooth", gcra(1, 1_000, 1))));
        Policy all = policy("all", window(10_000, 86_400_000));
        for (int i = 0; i <= PolicyState.MAX_DELAYED; i++) {
            assertThat(decide(consume(1, 0), smooth, all).delayMs()).isEqualTo(1_000L * i);
        }
        assertThat(decide(consume(1, 0), smooth, all))
                .returns(Reason.LIMIT_EXCEEDED, Decision::reason)
                .returns("all", Decision::policyId)
                .returns(1_000L, Decision::retryAfterMs);
        assertThat(decide(consume(1, 1_000), smooth, all).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void a_policy_that_begins_to_throttle_starts_after_the_delayed_requests() {
        Policy smooth = inLayer("smooth", throttle(60_000, policy("smooth", gcra(1, 1_000, 1))));
        Policy all = policy("all", window(3, 10_000));
        for (int i = 0; i < 3; i++) {
            decide(consume(1, 0), smooth, all);
        }
        assertThat(decide(consume(1, 0), throttle(60_000, all)).delayMs()).isEqualTo(10_000);
        assertThat(states.of("c", "all").delayed()).isEmpty();
    }

    @Test
    void a_delayed_peek_names_the_limit_with_the_least_remaining() {
        Policy smooth = throttle(20_000, policy("smooth", window(2, 5_000), gcra(3, 5_000, 3)));
        decide(consume(1, 4_326), smooth);
        decide(consume(1, 4_767), smooth);
        assertThat(decide(peek(2, 4_767), smooth))
                .returns(Reason.THROTTLED, Decision::reason)
                .returns("smooth/0", Decision::limitedBy)
                .returns(0L, Decision::remaining);
    }

    private static Request of(String tier, long atMs) {
        return request(RequestKind.CONSUME, tier, 1, atMs);
    }

    private static Request request(RequestKind kind, String tier, long cost, long atMs) {
        return Request.builder("r", "c")
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .timestampMs(atMs)
                .build();
    }

    /** The rules for policies that deny and throttle, by trying every time and counting all requests from the first. */
    private static final class Rules {

        private record Start(long ms, long cost) {}

        /** The requests that a key has charged. */
        private static final class Usage {
            final List<Start> starts = new ArrayList<>();
            long firstMs;
            long lastMs = Long.MIN_VALUE;
            long lastStartMs = Long.MIN_VALUE;
        }

        private final Map<String, Usage> usages = new HashMap<>();

        private Usage usage(Policy policy, Request request) {
            String tier = policy.key().contains("tier") ? request.tier() : "";
            return usages.computeIfAbsent(policy.id() + " " + tier, key -> new Usage());
        }

        /** Returns the start of a request, null if it is denied. */
        Long startMs(List<Policy> policies, Request request, long nowMs) {
            long startMs = nowMs;
            long maxDelayMs = Long.MAX_VALUE;
            for (Policy policy : policies) {
                if (policy.onExceed() instanceof OnExceed.Throttle throttle) {
                    startMs = Math.max(startMs, usage(policy, request).lastStartMs);
                    maxDelayMs = Math.min(maxDelayMs, throttle.maxDelayMs());
                }
                if (policy.terms().stream()
                        .anyMatch(term -> request.cost() > term.limit().capacity())) {
                    return null;
                }
            }
            while (!fits(policies, request, startMs, true)) {
                startMs++;
            }
            boolean isTooLate = maxDelayMs < Long.MAX_VALUE && startMs - nowMs > maxDelayMs;
            return isTooLate || !fits(policies, request, startMs, false) ? null : (Long) startMs;
        }

        private boolean fits(List<Policy> policies, Request request, long startMs, boolean throttling) {
            for (Policy policy : policies) {
                if (policy.onExceed() instanceof OnExceed.Throttle == throttling) {
                    for (Policy.Term term : policy.terms()) {
                        if (!fits(term.limit(), usage(policy, request), new Start(startMs, request.cost()))) {
                            return false;
                        }
                    }
                }
            }
            return true;
        }

        private static boolean fits(Limit<?> limit, Usage usage, Start added) {
            List<Start> all = new ArrayList<>(usage.starts);
            all.add(added);
            all.sort(Comparator.comparingLong(Start::ms));
            LimitOracle model = LimitOracle.of(limit);
            model.open(usage.starts.isEmpty() ? added.ms : usage.firstMs);
            for (Start start : all) {
                if (model.available(start.ms) < start.cost) {
                    return false;
                }
                model.charge(start.cost, start.ms);
            }
            return true;
        }

        long nowMs(List<Policy> policies, Request request) {
            long nowMs = request.timestampMs();
            for (Policy policy : policies) {
                nowMs = Math.max(nowMs, usage(policy, request).lastMs);
            }
            return nowMs;
        }

        void charge(List<Policy> policies, Request request, long nowMs, long startMs) {
            for (Policy policy : policies) {
                Usage usage = usage(policy, request);
                usage.firstMs = usage.starts.isEmpty() ? nowMs : usage.firstMs;
                usage.starts.add(new Start(startMs, request.cost()));
                usage.lastMs = nowMs;
                usage.lastStartMs = Math.max(usage.lastStartMs, startMs);
            }
        }
    }

    @Test
    void all_layers_decide_by_the_starts_of_all_requests() {
        int delayed = 0;
        int between = 0;
        int refusedAtStart = 0;
        int retries = 0;
        for (int i = 0; i < Effort.times(TABLES); i++) {
            Random random = new Random(i * 0x9E3779B97F4A7C15L); // neighbours differ
            List<Policy> policies = randomPolicies(random);
            PolicyTable table = PolicyTable.of(policies);
            MapStates own = new MapStates();
            Rules rules = new Rules();
            long nowMs = 1_000;
            for (int j = 0; j < REQUESTS; j++) {
                nowMs += random.nextInt(3) == 0 ? random.nextInt(30) : 0;
                RequestKind kind = random.nextInt(5) == 0 ? RequestKind.PEEK : RequestKind.CONSUME;
                long atMs = nowMs - (random.nextInt(8) == 0 ? random.nextInt(30) : 0);
                Request request = request(kind, random.nextBoolean() ? "s" : "o", 1 + random.nextInt(2), atMs);
                List<Policy> applicable = table.applicable(request);
                long decidedMs = rules.nowMs(applicable, request);
                boolean throttles = applicable.stream().anyMatch(one -> one.onExceed() instanceof OnExceed.Throttle);
                Long startMs = rules.startMs(applicable, request, decidedMs);
                Decision decision = (Decision) Decider.local(own).decide(request, table);
                String as = "table " + i + ", request " + j + ": " + request + " by " + policies + ": " + decision;
                assertThat(decision.outcome()).as(as).isEqualTo(startMs == null ? Outcome.DENIED : Outcome.ALLOWED);
                assertThat(decision.decidedAtMs()).as(as).isEqualTo(applicable.isEmpty() ? atMs : decidedMs);
                if (startMs != null) {
                    assertThat(decision.delayMs()).as(as).isEqualTo(throttles ? (Long) (startMs - decidedMs) : null);
                    delayed += startMs > decidedMs ? 1 : 0;
                    boolean isBetween =
                            applicable.stream().anyMatch(one -> rules.usage(one, request).lastStartMs > startMs);
                    between += isBetween ? 1 : 0;
                    if (kind == RequestKind.CONSUME) {
                        rules.charge(applicable, request, decidedMs, startMs);
                    }
                } else if (decision.retryAfterMs() != null) {
                    long retryMs = decision.retryAfterMs();
                    assertThat(rules.startMs(applicable, request, decidedMs + retryMs))
                            .as(as)
                            .isNotNull();
                    for (long earlierMs = retryMs - 1; earlierMs > 0; earlierMs -= 1 + random.nextInt(40)) {
                        assertThat(rules.startMs(applicable, request, decidedMs + earlierMs))
                                .as(as)
                                .isNull();
                    }
                    retries++;
                    boolean isDenying = applicable.stream()
                            .anyMatch(one -> one.id().equals(decision.policyId()) && one.onExceed() == OnExceed.DENY);
                    refusedAtStart += throttles && isDenying ? 1 : 0;
                }
            }
        }
        assertThat(List.of(delayed, between, refusedAtStart, retries)).allMatch(count -> count > 50);
    }

    private static List<Policy> randomPolicies(Random random) {
        List<Policy> policies = new ArrayList<>();
        if (random.nextBoolean()) { // some requests of a key are delayed, others are not
            Limit<?> smooth = gcra(1, 5 + random.nextLong(40), 1);
            policies.add(throttle(400, policy("smooth", "smooth", 0, match("tier", "s"), smooth)));
            long limit = 4 + random.nextLong(9);
            long perMs = 20 + random.nextLong(300);
            policies.add(policy("all", random.nextBoolean() ? log(limit, perMs) : window(limit, perMs)));
            return policies;
        }
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            Limit<?>[] limits = new Limit<?>[1 + random.nextInt(2)];
            for (int j = 0; j < limits.length; j++) {
                limits[j] = randomLimit(random);
            }
            Policy one = random.nextInt(3) == 0
                    ? policy("p" + i, "layer" + i, 0, match("tier", "s"), limits)
                    : inLayer("layer" + i, policy("p" + i, limits));
            one = random.nextInt(3) == 0 ? keyed(List.of("client", "tier"), one) : one;
            policies.add(random.nextBoolean() ? throttle(1 + random.nextLong(150), one) : one);
        }
        return policies;
    }

    private static Limit<?> randomLimit(Random random) {
        long limit = 1 + random.nextLong(6);
        long perMs = 5 + random.nextLong(60);
        long burst = 1 + random.nextLong(6);
        return switch (random.nextInt(7)) {
            case 0 -> window(limit, perMs);
            case 1 -> log(limit, perMs);
            case 2 -> counter(limit, perMs);
            case 3 -> tokens(limit, perMs, burst);
            case 4 -> leaky(limit, perMs, burst);
            case 5 -> gcra(limit, perMs, burst);
            default -> steps(limit, perMs, burst);
        };
    }
}
