package dev.weir.decision;

import dev.weir.event.Admission;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.ThrottleConflict;

/**
 * Decides requests: finds the policies that apply, asks all of their limits, and charges either every one of them or
 * none. The decision is a pure function of the policies, the states, the leases and the request. Not thread-safe.
 *
 * <pre>
 *   rejected  ⟺  too large for some enforcing policy, or a SETTLE below 0 and some enforcing policy has shared limits
 *   refused   ⟺  rejected, or some enforcing policy's limit does not permit the request, or some throttling one's delay
 *   shaped    ⟺  not refused, and some shaping policy has no limits or one that does not permit
 *   charged    =  every limit, if not refused                          (CONSUME, SETTLE; PEEK never)
 *                 the limits that count denied requests, if refused but not rejected
 *   binding    =  refused: the refusing limit with the longest retry;  else the limit with the least remaining
 * </pre>
 *
 * <p>Time does not run backwards for a key, nor do its terms: the versions of policies that apply are those in force at
 * the time of the request, or at that of the last charge of a key that it is counted by, if that is later ({@link
 * PoliciesInForce}).
 *
 * <p>Policies that throttle put the request off, together, to the first moment at which all of their limits permit it,
 * and not before one that they put off earlier; they are charged at that moment. So the moments at which requests may
 * start are what the limits would have permitted as it came:
 *
 * <pre>
 *   start  =  min { t ≥ now, t ≥ the last start : every limit permits the cost at t }
 *   delay  =  start − now,  refused if above max-delay
 * </pre>
 *
 * <p>A request that was answered before is answered as the first time, if its policies ask for that, and charges
 * nothing. A request with the same id but another content is denied, and charges nothing. Policies that only observe do
 * not deny it: then it is decided and charged as a request of its own ({@link IdempotencyCheck}).
 *
 * <p>Shared limits are decided by the leases of them that are at hand, in the time of their ledgers. Where these are
 * not enough, but more may be granted, the request is to wait, and nothing is charged; unless another limit refuses it
 * anyway.
 *
 * <p>What is shaped cannot be put off as well, so a policy that throttles denies what it would put off ({@link
 * ThrottleConflict}). What is shaped is charged where it is within the limits, and goes to the queue of the first such
 * policy, by layer. A policy that observes is asked and charged as if it enforced, but refuses nothing.
 */
public final class Decider {

    private static final int OK = 200;
    private static final int TOO_LARGE = 413;
    private static final int UNPROCESSABLE = 422;
    private static final int TOO_MANY = 429;

    private final WritablePolicyStates states;
    private final QuotaSource shared;

    /**
     * A decider that charges {@code states}.
     *
     * @param shared where it looks up shared limits
     */
    public Decider(WritablePolicyStates states, QuotaSource shared) {
        this.states = states;
        this.shared = shared;
    }

    /** Returns a decider that counts all limits in {@code states}, shared ones too. */
    public static Decider local(WritablePolicyStates states) {
        return new Decider(states, QuotaSource.local());
    }

    /** Returns a decider that leaves {@code states} unchanged, as for a dry run. */
    public static Decider readOnly(PolicyStates states, QuotaSource shared) {
        return new Decider(new ReadOnlyStates(states), shared);
    }

    /** Decides a request, and writes what the decision changes to the states and the leases. */
    public DecisionResult decide(Request request, PolicyTable policies) {
        if (request.kind() == RequestKind.CANCEL) {
            return Admission.cancel(request);
        }
        PoliciesInForce inForce = PoliciesInForce.of(request, policies, states, shared);
        Policy[] applicable = inForce.policies();
        if (applicable.length == 0) {
            return Decision.unmatched(request);
        }
        long windowMs = IdempotencyCheck.windowMs(request, applicable);
        if (windowMs == 0) {
            return decideFirst(request, inForce);
        }
        IdempotencyCache.Entry first = IdempotencyCheck.firstAnswer(request, states);
        if (first == null) {
            return IdempotencyCheck.storeAnswer(request, decideFirst(request, inForce), windowMs, states);
        }
        if (IdempotencyCheck.isSameContent(request, first)) {
            return IdempotencyCheck.repeatAnswer(request, first);
        }
        Policy denying = IdempotencyCheck.denyingPolicy(applicable);
        return denying == null ? decideFirst(request, inForce) : mismatch(request, denying);
    }

    private DecisionResult decideFirst(Request request, PoliciesInForce inForce) {
        PolicyChecks claims = PolicyChecks.of(request, inForce.policies(), states, shared);
        PolicyCheck[] all = claims.all();
        long nowMs = claims.notBeforeMs(inForce.atMs());
        long startMs = claims.startMs(nowMs);
        long leaseTimeMs = claims.leaseTimeMs();
        claims.evaluate(nowMs, startMs, leaseTimeMs, states);
        long delayMs = throttleDelayMs(request, claims.local(), startMs - nowMs);
        PolicyCheck shaping = claims.shaping();
        AwaitLease wait = claims.recordDemand();
        if (wait != null) {
            return wait;
        }
        boolean refused = false;
        boolean rejected = false;
        for (PolicyCheck claim : all) {
            refused |= claim.denies();
            rejected |= claim.rejects() && !claim.observes();
        }
        boolean charged = request.kind() != RequestKind.PEEK && !rejected && claims.charge(refused, states);
        if (refused && charged) {
            throttleDelayMs(request, claims.local(), startMs - nowMs); // for longer, since this denial was counted
        }
        if (refused) {
            return refusal(request, all, Math.max(nowMs, leaseTimeMs));
        }
        boolean usesLeases = claims.leased().length > 0 && request.kind() == RequestKind.CONSUME && request.cost() > 0;
        long decidedAtMs = usesLeases ? leaseTimeMs : Math.max(nowMs, leaseTimeMs);
        return shaping == null ? permission(request, claims, delayMs, decidedAtMs) : admission(request, shaping);
    }

    /**
     * By how long the policies that throttle put the request off together.
     *
     * @param aheadMs from now to the last start
     */
    private static long throttleDelayMs(Request request, LocalCheck[] claims, long aheadMs) {
        long waitMs = 0;
        for (LocalCheck claim : claims) {
            waitMs = Math.max(waitMs, claim.computeWaitMs());
        }
        boolean takes = request.kind() != RequestKind.SETTLE && request.cost() > 0;
        long delayMs = takes ? aheadMs + waitMs : 0;
        for (LocalCheck claim : claims) {
            claim.setDelayMs(delayMs);
        }
        return delayMs;
    }

    private static Decision refusal(Request request, PolicyCheck[] claims, long nowMs) {
        BindingLimit binding = BindingLimit.longestRetry(claims, PolicyCheck::denies);
        boolean shadowBanned = binding.policy().onExceed() instanceof OnExceed.ShadowBan;
        return decision(request, Outcome.DENIED, binding, null, false, shadowBanned, status(binding), nowMs);
    }

    private static Decision mismatch(Request request, Policy policy) {
        BindingLimit binding = BindingLimit.mismatch(policy);
        boolean shadowBanned = policy.onExceed() instanceof OnExceed.ShadowBan;
        return decision(
                request, Outcome.DENIED, binding, null, false, shadowBanned, status(binding), request.timestampMs());
    }

    /** What a gateway answers to a request that is denied. */
    private static int status(BindingLimit binding) {
        OnExceed onExceed = binding.policy().onExceed();
        if (onExceed instanceof OnExceed.ShadowBan) {
            return OK;
        }
        if (binding.reason() == Reason.TOO_LARGE) {
            return TOO_LARGE;
        }
        if (binding.reason() == Reason.IDEMPOTENCY_MISMATCH || binding.reason() == Reason.SHARED_LIMIT_REFUND) {
            return UNPROCESSABLE;
        }
        return onExceed instanceof OnExceed.Deny deny ? deny.httpStatus() : TOO_MANY;
    }

    private static Decision permission(Request request, PolicyChecks claims, long delayMs, long nowMs) {
        boolean throttled = false;
        for (LocalCheck claim : claims.local()) {
            throttled |= claim.throttles() && request.kind() != RequestKind.SETTLE;
        }
        BindingLimit observed = BindingLimit.longestRetry(claims.all(), PolicyCheck::observes);
        BindingLimit binding = observed != null
                ? observed
                : delayMs > 0
                        ? BindingLimit.longestDelay(claims.local())
                        : BindingLimit.leastRemaining(
                                claims.all(),
                                request.kind() == RequestKind.SETTLE ? Reason.SETTLED : Reason.WITHIN_LIMITS);
        Long delay = throttled ? (Long) delayMs : null;
        return decision(request, Outcome.ALLOWED, binding, delay, observed != null, false, OK, nowMs);
    }

    private static Admission admission(Request request, PolicyCheck shaping) {
        BindingLimit exceeded = BindingLimit.longestRetry(new PolicyCheck[] {shaping}, PolicyCheck::refuses);
        Policy policy = shaping.policy();
        LimitStatus limit = exceeded == null ? null : exceeded.limit();
        return Admission.of(
                request,
                policy.queue(),
                policy.versionId(),
                limit == null ? null : LimitStatus.of(limit.label(), limit.limit()));
    }

    private static Decision decision(
            Request request,
            Outcome outcome,
            BindingLimit binding,
            Long delayMs,
            boolean observed,
            boolean shadowBanned,
            int httpStatus,
            long nowMs) {
        return new Decision(
                Decision.Identity.of(request),
                new Decision.Status(outcome, binding.reason(), httpStatus, observed, shadowBanned, false),
                new Decision.Timing(nowMs, binding.retryAfterMs(), delayMs),
                binding.policy().versionId(),
                binding.limit(),
                null,
                DecisionContext.UNKNOWN);
    }
}
