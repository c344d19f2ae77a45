package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.Decision;
import dev.weir.event.LimitOverride;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Blocked;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitOracle;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares decisions over several layers and limits with those of a direct implementation of the rules on models. */
class DeciderModelTest {

    private static final int TABLES = 60;
    private static final int REQUESTS = 250;

    /** The usage that a policy has counted for one client. */
    private static final class PolicyUsage {
        final List<LimitOracle> models = new ArrayList<>();
        long lastMs = Long.MIN_VALUE;

        void open(long nowMs) {
            models.forEach(model -> model.open(nowMs));
            lastMs = nowMs;
        }

        /** Frees all usage, if there is any. */
        void reset(Policy policy, long nowMs) {
            if (lastMs != Long.MIN_VALUE) {
                models.clear();
                policy.terms().forEach(term -> models.add(LimitOracle.of(term.limit())));
                open(nowMs);
            }
        }
    }

    private final Map<String, PolicyUsage> usages = new HashMap<>();

    /** One limit's part in the current decision. */
    private record Part(Policy policy, int index, Limit<?> limit, LimitOracle model, boolean permits, long atMs) {

        /** Returns the part of a limit, with the number of tokens of the request where the policy allows it. */
        static Part of(Policy policy, int index, LimitOracle model, Request request, boolean settles, long nowMs) {
            Policy.Term term = policy.terms().get(index);
            LimitOverride override = request.limitOverride();
            Limit<?> limit = term.limit();
            LimitOracle used = model;
            if (override != null && term.allowsOverride() && limit.windowMs(nowMs) == override.windowMs()) {
                limit = limit instanceof SlidingWindowCounter counter
                        ? new SlidingWindowCounter(
                                override.limit(), counter.perMs(), counter.strict(), counter.countDenied())
                        : new FixedWindow(override.limit(), override.windowMs(), limit.countDenied());
                used = model.withTokens(override.limit());
            }
            boolean permits = settles || request.cost() == 0 || request.cost() <= used.available(nowMs);
            return new Part(policy, index, limit, used, permits, nowMs);
        }

        String label() {
            return policy.terms()
                    .get(index)
                    .label()
                    .replace(" " + policy.terms().get(index).limit().capacity() + "/", " " + limit.capacity() + "/");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void decides_by_the_rules(long seed) {
        for (int i = 0; i < TABLES; i++) {
            Random random = new Random(seed * 1_000 + i);
            List<Policy> policies = randomPolicies(random);
            PolicyTable table = PolicyTable.of(policies);
            MapStates states = new MapStates();
            usages.clear();
            long nowMs = random.nextInt(50);
            for (int j = 0; j < REQUESTS; j++) {
                nowMs += random.nextInt(3) == 0 ? random.nextInt(12) : 0;
                long atMs = nowMs - (random.nextInt(10) == 0 ? random.nextInt(20) : 0);
                Request request = addressed(randomRequest(random, atMs), policies, random);
                Expected expected = decideByTheRules(request, policies);
                Decision decision = (Decision) Decider.local(states).decide(request, table);
                assertThat(Expected.of(decision))
                        .as("seed %d, table %d, request %d: %s by %s", seed, i, j, request, policies)
                        .isEqualTo(expected);
                if (request.cost() < 0) { // if there was nothing to refund, nothing is written
                    policies.forEach(policy -> rewind(policy, request, states));
                }
            }
        }
    }

    /** The compared parts of a decision. */
    private record Expected(
            Outcome outcome,
            Reason reason,
            String limitedBy,
            Long remaining,
            Long retryAfterMs,
            boolean observed,
            boolean shadowBanned,
            int httpStatus,
            long decidedAtMs) {

        static Expected of(Decision decision) {
            return new Expected(
                    decision.outcome(),
                    decision.reason(),
                    decision.limitedBy(),
                    decision.remaining(),
                    decision.retryAfterMs(),
                    decision.observed(),
                    decision.shadowBanned(),
                    decision.httpStatus(),
                    decision.decidedAtMs());
        }
    }

    private PolicyUsage usage(Policy policy, Request request) {
        return usages.computeIfAbsent(request.client() + " " + policy.id(), id -> {
            PolicyUsage usage = new PolicyUsage();
            policy.terms().forEach(term -> usage.models.add(LimitOracle.of(term.limit())));
            return usage;
        });
    }

    private void rewind(Policy policy, Request request, MapStates states) {
        PolicyState state = states.of(request.client(), policy.id());
        usage(policy, request).lastMs = state == null ? Long.MIN_VALUE : state.lastChargeMs();
    }

    private Expected decideByTheRules(Request request, List<Policy> all) {
        String only = request.policyId();
        List<Policy> policies = all.stream()
                .filter(policy -> only == null || only.equals(policy.id()))
                .toList();
        if (policies.isEmpty()) {
            Reason reason = Reason.POLICY_NOT_APPLICABLE;
            return new Expected(Outcome.DENIED, reason, only, null, null, false, false, 404, request.timestampMs());
        }
        long nowMs = request.timestampMs();
        for (Policy policy : policies) {
            nowMs = policy.observes() ? nowMs : Math.max(nowMs, usage(policy, request).lastMs);
        }
        boolean resets = request.kind() == RequestKind.RESET;
        boolean settles = request.kind() == RequestKind.SETTLE || resets;
        if (resets) {
            for (Policy policy : policies) {
                usage(policy, request).reset(policy, timeOf(policy, request, nowMs));
            }
        }
        List<Part> parts = new ArrayList<>();
        Policy tooLargeFor = null;
        boolean isTooLargeForObserver = false;
        for (Policy policy : policies) {
            boolean tooLarge = !settles
                    && policy.maxSizeBytes() != null
                    && request.sizeBytes() != null
                    && request.sizeBytes() > policy.maxSizeBytes();
            if (tooLarge && policy.observes()) {
                isTooLargeForObserver = true;
            } else if (tooLarge) {
                tooLargeFor = tooLargeFor == null ? policy : tooLargeFor;
            }
            for (int i = 0; i < policy.terms().size(); i++) {
                LimitOracle model = usage(policy, request).models.get(i);
                parts.add(Part.of(policy, i, model, request, settles, timeOf(policy, request, nowMs)));
            }
        }
        boolean refused =
                tooLargeFor != null || parts.stream().anyMatch(part -> !part.permits && !part.policy.observes());
        boolean observed =
                isTooLargeForObserver || parts.stream().anyMatch(part -> !part.permits && part.policy.observes());
        if (request.kind() != RequestKind.PEEK && !resets && tooLargeFor == null && request.cost() != 0) {
            for (Policy policy : policies) {
                charge(policy, request, parts, refused);
            }
            askAgain(request, parts, refused);
        }
        if (tooLargeFor != null) {
            boolean banned = tooLargeFor.onExceed() instanceof OnExceed.ShadowBan;
            return new Expected(
                    Outcome.DENIED, Reason.TOO_LARGE, "max-size", null, null, false, banned, banned ? 200 : 413, nowMs);
        }
        if (refused) {
            Part longest = longestWait(parts, request);
            boolean banned = longest.policy.onExceed() instanceof OnExceed.ShadowBan;
            return denied(longest, request, banned, banned ? 200 : 429);
        }
        boolean observes = policies.stream().allMatch(Policy::observes);
        Part least = leastRemaining(parts, observes && only != null);
        if (observes && only == null) {
            return new Expected(
                    Outcome.ALLOWED, Reason.NO_POLICY, null, null, 0L, observed, false, 200, request.timestampMs());
        }
        Reason reason = resets ? Reason.USAGE_RESET : settles ? Reason.SETTLED : Reason.WITHIN_LIMITS;
        return new Expected(
                Outcome.ALLOWED,
                reason,
                least == null ? null : least.label(),
                least == null ? null : (Long) Math.max(0, least.model.available(least.atMs)),
                0L,
                observed,
                false,
                200,
                nowMs);
    }

    /** Returns the time by which a policy decides; one that observes goes by its own time, if that is later. */
    private long timeOf(Policy policy, Request request, long nowMs) {
        return policy.observes() ? Math.max(nowMs, usage(policy, request).lastMs) : nowMs;
    }

    private void charge(Policy policy, Request request, List<Part> parts, boolean refused) {
        boolean refuses = parts.stream().anyMatch(part -> part.policy.equals(policy) && !part.permits);
        boolean tooLarge = policy.maxSizeBytes() != null
                && request.sizeBytes() != null
                && request.sizeBytes() > policy.maxSizeBytes()
                && request.kind() != RequestKind.SETTLE;
        for (Part part : parts) {
            boolean counts = (!refused && !refuses && !tooLarge) || (part.limit.countDenied() && !tooLarge);
            boolean counted = !(part.limit instanceof Unlimited) && !(part.limit instanceof Blocked);
            if (part.policy.equals(policy) && counts && counted) {
                long nowMs = part.atMs;
                boolean isDenied = refused || refuses || tooLarge;
                long before = part.model.available(nowMs);
                if (isDenied) {
                    part.model.chargeDenied(request.cost(), part.limit, nowMs);
                } else if (request.kind() == RequestKind.SETTLE) {
                    long maxDebt = policy.terms().get(part.index).maxDebt();
                    part.model.charge(part.model.inReserve(request.cost(), maxDebt, nowMs), nowMs);
                } else {
                    part.model.charge(request.cost(), nowMs);
                }
                if (part.model.available(nowMs) != before) {
                    usage(policy, request).open(nowMs);
                }
            }
        }
    }

    /** A counted denial can make other limits refuse too: the same cost passes when all of them permit it. */
    private static void askAgain(Request request, List<Part> parts, boolean refused) {
        if (request.kind() == RequestKind.SETTLE) {
            return;
        }
        List<Policy> refusing =
                parts.stream().filter(part -> !part.permits).map(Part::policy).toList();
        parts.replaceAll(part -> refused || refusing.contains(part.policy)
                ? new Part(
                        part.policy,
                        part.index,
                        part.limit,
                        part.model,
                        request.cost() <= part.model.available(part.atMs),
                        part.atMs)
                : part);
    }

    private static long waitMs(Part part, Request request) {
        return request.cost() > part.limit.capacity() ? Long.MAX_VALUE : part.model.waitMs(request.cost(), part.atMs);
    }

    private static Part longestWait(List<Part> parts, Request request) {
        Part longest = null;
        for (Part part : parts) {
            if (!part.permits
                    && !part.policy.observes()
                    && (longest == null || waitMs(part, request) > waitMs(longest, request))) {
                longest = part;
            }
        }
        return longest;
    }

    private static Part leastRemaining(List<Part> parts, boolean observing) {
        Part least = null;
        for (Part part : parts) {
            boolean eligible = part.policy.observes() == observing && !(part.limit instanceof Unlimited);
            if (eligible
                    && (least == null
                            || Math.max(0, part.model.available(part.atMs))
                                    < Math.max(0, least.model.available(least.atMs)))) {
                least = part;
            }
        }
        return least;
    }

    private static Expected denied(Part part, Request request, boolean shadowBanned, int httpStatus) {
        boolean never = request.cost() > part.limit.capacity();
        return new Expected(
                Outcome.DENIED,
                never ? Reason.COST_NEVER_FITS : Reason.LIMIT_EXCEEDED,
                part.label(),
                Math.max(0, part.model.available(part.atMs)),
                never ? null : (Long) waitMs(part, request),
                false,
                shadowBanned,
                httpStatus,
                part.atMs);
    }

    /** Returns a request that, if it is a RESET, sometimes names a policy, which may not exist. */
    private static Request addressed(Request request, List<Policy> policies, Random random) {
        if (request.kind() != RequestKind.RESET || random.nextBoolean()) {
            return request;
        }
        Policy any = policies.get(random.nextInt(policies.size()));
        return request.withPolicyId(random.nextInt(4) == 0 ? "other" : any.id());
    }

    private static Request randomRequest(Random random, long timestampMs) {
        RequestKind kind =
                switch (random.nextInt(40)) {
                    case 0, 1, 2, 3 -> RequestKind.PEEK;
                    case 4, 5, 6, 7 -> RequestKind.SETTLE;
                    case 8 -> RequestKind.RESET;
                    default -> RequestKind.CONSUME;
                };
        long cost = random.nextInt(random.nextInt(5) == 0 ? 14 : 3);
        if (kind == RequestKind.SETTLE && random.nextBoolean()) {
            cost = -cost;
        }
        return Request.builder("r", "c" + random.nextInt(2))
                .kind(kind)
                .cost(cost)
                .sizeBytes(random.nextInt(4) == 0 ? (Long) random.nextLong(120) : null)
                .limitOverride(
                        random.nextBoolean() ? null : new LimitOverride(random.nextLong(16), 1 + random.nextLong(4)))
                .timestampMs(Math.max(0, timestampMs))
                .source(0, 0)
                .build();
    }

    /** Returns one policy per layer, so that all of them apply. */
    private static List<Policy> randomPolicies(Random random) {
        List<Policy> policies = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            Limit<?>[] limits = new Limit<?>[1 + random.nextInt(3)];
            boolean isOverridable = random.nextInt(3) == 0;
            for (int j = 0; j < limits.length; j++) {
                limits[j] = isOverridable ? randomWindow(random) : randomLimit(random);
            }
            String id = "p" + random.nextInt(1_000) + "-" + i;
            Policy policy = Samples.inLayer(
                    "layer" + (9 - i), isOverridable ? Samples.overridable(id, limits) : Samples.policy(id, limits));
            policy = Samples.maxSize(random.nextInt(3) == 0 ? (Long) 90L : null, policy);
            int action = random.nextInt(5);
            policies.add(Samples.onExceed(
                    action == 0 ? OnExceed.OBSERVE : action == 1 ? OnExceed.SHADOW_BAN : OnExceed.DENY, policy));
        }
        return policies;
    }

    /** Returns a limit that requests can override, with a window that random overrides often have. */
    private static Limit<?> randomWindow(Random random) {
        long limit = 1 + random.nextLong(12);
        long perMs = 1 + random.nextLong(4);
        boolean countDenied = random.nextInt(4) == 0;
        return random.nextBoolean()
                ? new FixedWindow(limit, perMs, countDenied)
                : new SlidingWindowCounter(limit, perMs, random.nextBoolean(), countDenied);
    }

    private static Limit<?> randomLimit(Random random) {
        long limit = 1 + random.nextLong(12);
        long perMs = 1 + random.nextLong(30);
        long burst = 1 + random.nextLong(15);
        boolean countDenied = random.nextInt(4) == 0;
        return switch (random.nextInt(15)) {
            case 0, 1 -> new FixedWindow(limit, perMs, countDenied);
            case 2, 3, 4 -> new SlidingWindowLog(limit, perMs, false); // with true, it would not know its debt
            case 5 -> new SlidingWindowCounter(limit, perMs, false, countDenied);
            case 6 -> new SlidingWindowCounter(limit, perMs, true, countDenied);
            case 7, 8 -> new TokenBucket(Rate.of(limit, perMs), burst, countDenied);
            case 9 -> new LeakyBucket(Rate.of(limit, perMs), burst, countDenied);
            case 10, 11 -> new Gcra(Rate.of(limit, perMs), burst, countDenied);
            case 12, 13 -> new IntervalBucket(limit, perMs, burst, countDenied);
            default -> random.nextBoolean() ? new Unlimited() : new Blocked();
        };
    }
}
