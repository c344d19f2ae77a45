package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.idempotent;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.Admission;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitOverride;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseBooks;
import dev.weir.limit.Blocked;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestMatcher;
import dev.weir.policy.Sharing;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests that a policy with {@code observe} has no effect, except that decisions name it. */
class ObservingTest {

    private static final int TABLES = 1_200;
    private static final int REQUESTS = 120;
    private static final long START_MS = 100_000;

    private final MapStates states = new MapStates();

    private DecisionResult ask(Request request, Policy... policies) {
        return Decider.local(states).decide(request, table(policies));
    }

    private Decision decide(Request request, Policy... policies) {
        return (Decision) ask(request, policies);
    }

    private static Policy observing(Policy policy) {
        return inLayer("trial", onExceed(OnExceed.OBSERVE, policy));
    }

    @Test
    void a_decision_reports_the_enforced_limit_and_names_the_observing_policy() {
        Policy hard = policy("hard", window(10, 3_600_000));
        Policy soft = observing(policy("soft", window(3, 3_600_000)));
        for (int i = 1; i <= 5; i++) {
            assertThat(decide(consume(1, i), hard, soft))
                    .returns(Outcome.ALLOWED, Decision::outcome)
                    .returns(Reason.WITHIN_LIMITS, Decision::reason)
                    .returns("hard", Decision::policyId)
                    .returns(10L, Decision::limit)
                    .returns(10L - i, Decision::remaining)
                    .returns(0L, Decision::retryAfterMs)
                    .returns(i > 3, Decision::observed)
                    .returns(i > 3 ? List.of("soft") : List.of(), Decision::observedBy);
        }
    }

    @Test
    void all_observing_policies_that_would_deny_are_named_by_layer_up_to_a_bound() {
        List<Policy> policies = new ArrayList<>(List.of(policy("hard", window(10, 60_000))));
        for (int i = 10; i < 30; i++) {
            Limit<?> limit = i == 11 ? window(1, 60_000) : new Blocked();
            policies.add(inLayer("trial" + i, onExceed(OnExceed.OBSERVE, policy("soft" + i, limit))));
        }
        List<String> ids = new ArrayList<>();
        for (int i = 10; ids.size() < Decision.MAX_OBSERVED_BY; i++) {
            if (i != 11) {
                ids.add("soft" + i);
            }
        }
        assertThat(decide(consume(1, 0), policies.toArray(Policy[]::new)).observedBy())
                .isEqualTo(ids);
    }

    @Test
    void with_an_unlimited_policy_no_limit_is_reported() {
        Policy free = policy("free", new Unlimited());
        Policy soft = observing(policy("soft", window(1, 60_000)));
        for (int i = 0; i < 2; i++) {
            assertThat(decide(consume(1, i), free, soft))
                    .returns("free", Decision::policyId)
                    .returns(null, Decision::limitedBy)
                    .returns(null, Decision::remaining)
                    .returns(i > 0, Decision::observed);
        }
    }

    @Test
    void if_only_observing_policies_apply_the_decision_is_that_for_no_policy() {
        Policy soft = observing(maxSize(10L, policy("soft", window(1, 60_000))));
        assertThat(decide(consume(1, 0), soft)).isEqualTo(Decision.unmatched(consume(1, 0)));
        for (Request request : List.of(consume(1, 1), peek(1, 1), sized(11, peek(0, 1)))) {
            assertThat(decide(request, soft))
                    .isEqualTo(Decision.unmatched(request).withObservedBy(List.of("soft")));
        }
    }

    @Test
    void an_observing_policy_does_not_move_the_time_of_late_requests() {
        Policy enforcing = keyed(List.of("client", "tier"), policy("p", log(1, 10_000)));
        Policy soft = observing(policy("soft", log(100, 10_000)));
        assertThat(decide(of("1", 20_000), enforcing, soft).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decide(of("2", 5_000), enforcing, soft).decidedAtMs()).isEqualTo(5_000);
        assertThat(decide(of("2", 16_000), enforcing, soft))
                .returns(Outcome.ALLOWED, Decision::outcome)
                .returns(16_000L, Decision::decidedAtMs);
        assertThat(states.of("c", "soft").lastChargeMs()).as("its own time").isEqualTo(20_000);
    }

    @Test
    void the_idempotency_of_an_observing_policy_has_no_effect() {
        Policy three = policy("p", log(3, 10_000));
        Policy soft = observing(idempotent(3_600_000, policy("soft", log(100, 10_000))));
        for (int i = 0; i < 3; i++) {
            assertThat(decide(consume(1, i), three, soft).repeated()).isFalse();
        }
        assertThat(decide(consume(1, 3), three, soft).outcome()).isEqualTo(Outcome.DENIED);
        Policy brief = idempotent(1_000, policy("q", log(9, 10_000)));
        assertThat(decide(of("same", 20_000), brief, soft).repeated()).isFalse();
        assertThat(decide(consume(2, 22_000), brief, soft).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void queued_requests_name_observing_policies() {
        Policy queue = onExceed(new OnExceed.Shape("q"), policy("hooks", new Blocked()));
        Policy soft = observing(policy("soft", log(1, 60_000)));
        assertThat(((Admission) ask(consume(1, 0), queue, soft)).sent().observedBy())
                .isEmpty();
        assertThat(((Admission) ask(consume(1, 1), queue, soft)).sent().observedBy())
                .containsExactly("soft");
    }

    @Test
    void a_denied_request_names_no_observing_policy() {
        Policy soft = observing(policy("soft", new Blocked()));
        assertThat(decide(consume(1, 0), policy("hard", new Blocked()), soft))
                .returns("hard", Decision::policyId)
                .returns(false, Decision::observed)
                .returns(List.of(), Decision::observedBy);
    }

    @Test
    void a_reset_is_decided_by_the_enforcing_policies() {
        Policy shared = keyed(List.of(), policy("shared", window(9, 60_000)));
        Policy soft = observing(policy("soft", window(9, 60_000)));
        Request reset = Samples.of(RequestKind.RESET, 0, 5);
        assertThat(decide(reset, shared, soft)).isEqualTo(decide(reset, shared));
        assertThat(decide(reset, soft)).isEqualTo(Decision.unmatched(reset));
    }

    private static Request of(String tier, long atMs) {
        return Request.builder("r", "c").tier(tier).timestampMs(atMs).build();
    }

    /** Compares all decisions by random policies with those by the same policies beside policies that observe. */
    @Test
    void an_observing_policy_changes_no_decision() {
        Map<Outcome, Integer> outcomes = new EnumMap<>(Outcome.class);
        int observed = 0;
        int repeated = 0;
        int delayed = 0;
        int waited = 0;
        for (int i = 0; i < Effort.times(TABLES); i++) {
            Random random = new Random(i * 0x9E3779B97F4A7C15L); // neighbours differ
            List<Policy> enforcing = new ArrayList<>();
            for (int j = random.nextInt(4); j > 0; j--) {
                enforcing.addAll(randomPolicy("p" + j, "m" + j, random, false));
            }
            List<Policy> both = new ArrayList<>(enforcing);
            for (int j = random.nextInt(2); j >= 0; j--) {
                both.addAll(randomPolicy("o" + j, (random.nextBoolean() ? "a" : "z") + j, random, true));
            }
            Setup without = new Setup(PolicyTable.of(enforcing));
            Setup with = new Setup(PolicyTable.of(both));
            boolean leased = random.nextBoolean();
            long nowMs = START_MS;
            List<Request> sent = new ArrayList<>();
            for (int j = 0; j < REQUESTS; j++) {
                nowMs += random.nextInt(3) == 0 ? random.nextInt(20) : 0;
                long atMs = nowMs - (random.nextInt(5) == 0 ? random.nextInt(60) : 0);
                Request request = random.nextInt(5) == 0 && j > 0
                        ? sent.get(random.nextInt(j)).toBuilder()
                                .timestampMs(atMs)
                                .build()
                        : randomRequest(random, atMs);
                sent.add(request);
                int granted = random.nextInt(6);
                boolean isFirst = random.nextInt(3) > 0;
                DecisionResult expected = without.decide(request, leased, isFirst, granted, j);
                DecisionResult result = with.decide(request, leased, isFirst, granted, j);
                assertThat(withoutObservers(result))
                        .as("table %d, request %d: %s by %s", i, j, request, both)
                        .isEqualTo(expected);
                if (result instanceof Decision decision) {
                    outcomes.merge(decision.outcome(), 1, Integer::sum);
                    observed += decision.observed() ? 1 : 0;
                    repeated += decision.repeated() ? 1 : 0;
                    delayed += decision.delayMs() != null && decision.delayMs() > 0 ? 1 : 0;
                } else {
                    outcomes.merge(Outcome.QUEUED, result instanceof Admission ? 1 : 0, Integer::sum);
                    waited += result instanceof AwaitLease ? 1 : 0;
                }
            }
        }
        assertThat(outcomes.keySet()).contains(Outcome.ALLOWED, Outcome.DENIED, Outcome.QUEUED);
        assertThat(List.of(observed, repeated, delayed, waited)).allMatch(count -> count > 0);
    }

    private static DecisionResult withoutObservers(DecisionResult result) {
        if (result instanceof Admission admission) {
            IdempotentAnswer.SentToQueue sent =
                    new IdempotentAnswer.SentToQueue(admission.queue(), admission.policy(), admission.exceeded());
            return new Admission(
                    admission.request(),
                    sent,
                    admission.key(),
                    admission.identity(),
                    admission.headers(),
                    admission.context());
        }
        return result instanceof Decision decision ? decision.withObservedBy(List.of()) : result;
    }

    /** A task with its states and leases. */
    private static final class Setup {
        private final PolicyTable policies;
        private final MapStates states = new MapStates();
        private final Map<StateKey, LeaseBook> books = new HashMap<>();

        Setup(PolicyTable policies) {
            this.policies = policies;
        }

        DecisionResult decide(Request request, boolean leased, boolean isFirst, int granted, int step) {
            if (!leased) {
                return Decider.local(states).decide(request, policies);
            }
            long nowMs = START_MS + 2L * step;
            for (Policy policy : policies.applicable(request)) {
                if (policy.isShared() && granted < 3) {
                    StateKey key = policy.stateKey(request);
                    books.put(key, LeaseBooks.plus(books.getOrDefault(key, LeaseBook.empty()), granted, nowMs, 1_000));
                }
            }
            return new Decider(states, new LeaseContext(new Held(books), nowMs, isFirst, isFirst))
                    .decide(request, policies);
        }
    }

    private record Held(Map<StateKey, LeaseBook> books) implements WritableLeases {
        @Override
        public LeaseBook book(StateKey key) {
            return books.getOrDefault(key, LeaseBook.empty());
        }

        @Override
        public void put(StateKey key, LeaseBook book) {
            books.put(key, book);
        }

        @Override
        public void recordUnmetDemand(StateKey key, long cost) {}

        @Override
        public void recordQuestion(StateKey key, long cost) {}

        @Override
        public void reset(StateKey key) {}

        @Override
        public boolean hasWaiting(StateKey key) {
            return false;
        }

        @Override
        public LeaseTerms terms(StateKey key) {
            return LeaseTerms.DEFAULTS;
        }

        @Override
        public long roundTripMs() {
            return 30;
        }

        @Override
        public long leaseWaitMs() {
            return 100;
        }
    }

    private static Request randomRequest(Random random, long atMs) {
        RequestKind kind =
                switch (random.nextInt(30)) {
                    case 0, 1, 2 -> RequestKind.PEEK;
                    case 3, 4 -> RequestKind.SETTLE;
                    case 5 -> RequestKind.RESET;
                    default -> RequestKind.CONSUME;
                };
        long cost = random.nextInt(random.nextInt(5) == 0 ? 9 : 3);
        return Request.builder("r" + random.nextInt(random.nextBoolean() ? 4 : 4_000), "c")
                .kind(kind)
                .tier(random.nextBoolean() ? null : "t" + random.nextInt(2))
                .cost(kind == RequestKind.SETTLE && random.nextBoolean() ? -cost : cost)
                .sizeBytes(random.nextInt(4) == 0 ? (Long) random.nextLong(120) : null)
                .attributes(random.nextBoolean() ? Map.of() : Map.of("x", "x" + random.nextInt(2)))
                .limitOverride(random.nextInt(4) > 0 ? null : new LimitOverride(random.nextLong(8), 40))
                .policyId(kind == RequestKind.RESET && random.nextBoolean() ? "p" + (1 + random.nextInt(3)) : null)
                .timestampMs(atMs)
                .source(0, 0)
                .build();
    }

    /** Returns one or two versions of a policy, of which the second takes effect or ends during the requests. */
    private static List<Policy> randomPolicy(String id, String layer, Random random, boolean observes) {
        boolean isShared = random.nextInt(4) == 0;
        List<String> key = isShared
                ? (random.nextBoolean() ? List.of() : List.of("tier"))
                : random.nextBoolean() ? List.of("client") : List.of("client", random.nextBoolean() ? "x" : "tier");
        RequestMatcher match = random.nextBoolean() ? RequestMatcher.ALL : Samples.match("x", "x*");
        List<Policy> versions = new ArrayList<>();
        for (int version = 1; version <= 1 + random.nextInt(2); version++) {
            OnExceed onExceed = observes ? OnExceed.OBSERVE : randomOnExceed(random, isShared);
            long fromMs = version == 1 ? 0 : START_MS + random.nextInt(300);
            versions.add(Policy.builder(id)
                    .version(version)
                    .effective(new EffectivePeriod(
                            fromMs, random.nextInt(4) == 0 ? START_MS + 300 + random.nextInt(100) : Long.MAX_VALUE))
                    .layer(layer)
                    .match(match)
                    .key(random.nextInt(4) == 0 && !isShared ? List.of("client") : key)
                    .terms(randomTerms(id, random, isShared))
                    .maxSizeBytes(random.nextInt(4) == 0 ? (Long) 90L : null)
                    .onExceed(onExceed)
                    .idempotencyMs(random.nextInt(3) == 0 ? 1 + random.nextInt(200) : 0)
                    .sharing(isShared ? Sharing.DEFAULT : null)
                    .build());
        }
        return versions;
    }

    private static OnExceed randomOnExceed(Random random, boolean isShared) {
        return switch (random.nextInt(isShared ? 4 : 6)) {
            case 0 -> OnExceed.SHADOW_BAN;
            case 1 -> new OnExceed.Shape("q");
            case 4, 5 -> new OnExceed.Throttle(1 + random.nextLong(100));
            default -> OnExceed.DENY;
        };
    }

    private static List<Policy.Term> randomTerms(String id, Random random, boolean isShared) {
        List<Policy.Term> terms = new ArrayList<>();
        boolean overridable = !isShared && random.nextInt(4) == 0;
        for (int i = random.nextInt(3); i >= 0; i--) {
            Limit<?> limit = overridable ? window(1 + random.nextLong(6), 40) : randomLimit(random, isShared);
            terms.add(new Policy.Term(id + "/" + i, limit, limit.capacity(), overridable));
        }
        return terms;
    }

    private static Limit<?> randomLimit(Random random, boolean isShared) {
        long limit = 1 + random.nextLong(8);
        long perMs = 1 + random.nextLong(60);
        long burst = 1 + random.nextLong(9);
        boolean countDenied = !isShared && random.nextInt(4) == 0;
        return switch (random.nextInt(9)) {
            case 0 -> new FixedWindow(limit, perMs, countDenied);
            case 1, 2 -> new SlidingWindowLog(limit, perMs, countDenied);
            case 3 -> new SlidingWindowCounter(limit, perMs, random.nextBoolean(), countDenied);
            case 4 -> new TokenBucket(Rate.of(limit, perMs), burst, countDenied);
            case 5 -> new LeakyBucket(Rate.of(limit, perMs), burst, countDenied);
            case 6 -> new Gcra(Rate.of(limit, perMs), burst, countDenied);
            case 7 -> new IntervalBucket(limit, perMs, burst, countDenied);
            default -> random.nextInt(3) > 0 ? new Unlimited() : new Blocked();
        };
    }
}
