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
 * Decides requests: finds the policies that apply, checks all of their limits, and charges either all of them or none.
 * A decision is a pure function of the policies, the states, the leases and the request. Not thread-safe.
 *
 * <pre>
 *   rejected  ⟺  too large for some enforcing policy, or a SETTLE below 0 and some enforcing policy has shared limits
 *   refused   ⟺  rejected, or some enforcing policy's limit does not permit the request, or some throttling one's delay
 *   shaped    ⟺  not refused, and some shaping policy has no limits or one that does not permit
 *   charged    =  all limits, if not refused                           (CONSUME, SETTLE; PEEK never)
 *                 the limits that count denied requests, if refused but not rejected
 *   freed      =  all limits, shared ones for all who share them        (RESET)
 *   binding    =  refused: the refusing limit with the longest retry;  else the limit with the least remaining
 * </pre>
 *
 * <p><b>Time</b> never runs backwards for a key, and neither do its terms: the policy versions that apply are those in
 * force at the time of the request, or at the last charge of one of its keys if that is later
 * ({@link PoliciesInForce}).
 *
 * <p><b>Throttling.</b> Policies that throttle delay the request, together, to the first time at which all of their
 * limits permit it, but not before the start of a request that they delayed earlier. They are charged at that time. So
 * the starts of requests are a sequence that the limits would have permitted without delay:
 *
 * <pre>
 *   start  =  min { t ≥ now, t ≥ the last start : all limits permit the cost at t }
 *   delay  =  start − now,  refused if above max-delay
 *
 *   10 a second, burst 1, four requests at once:   delays of 0, 100, 200 and 300 ms
 * </pre>
 *
 * <p><b>Idempotency.</b> If its policies ask for it, a request that was answered before gets the first answer again and
 * charges nothing. A request with the same requestId but different content is denied and charges nothing. If only
 * observing policies would deny it, it is decided and charged as a new request ({@link IdempotencyCheck}).
 *
 * <p><b>Shared limits</b> are decided by the available leases, in ledger time. If these do not suffice but more may be
 * granted, the request must wait and nothing is charged, unless another limit refuses it anyway. A PEEK takes nothing:
 * it is decided by what the ledger could lend, and waits for the ledger's answer if there is no recent one.
 *
 * <p><b>Shaping.</b> A queue cannot keep a delay. So if a request is to be shaped, a throttling policy that would delay
 * it denies it instead ({@link ThrottleConflict}). A shaped request is charged where it is within the limits, and goes
 * to the queue of the first policy, by layer, that shapes it.
 *
 * <p><b>Observing.</b> A policy that observes is checked and charged as if it enforced its limits, but never refuses.
 */
public final class Decider {

    private static final int OK = 200;
    private static final int TOO_LARGE = 413;
    private static final int UNPROCESSABLE = 422;
    private static final int TOO_MANY = 429;

    private final WritablePolicyStates states;
    private final QuotaSource shared;
    private final EvaluationListener listener;

    /**
     * Creates a decider that reads and charges {@code states}.
     *
     * @param shared where shared limits are counted
     */
    public Decider(WritablePolicyStates states, QuotaSource shared) {
        this(states, shared, EvaluationListener.NONE);
    }

    /**
     * Creates a decider that reads and charges {@code states}.
     *
     * @param shared where shared limits are counted
     * @param listener receives the result of each evaluated policy
     */
    public Decider(WritablePolicyStates states, QuotaSource shared, EvaluationListener listener) {
        this.states = states;
        this.shared = shared;
        this.listener = listener;
    }

    /** Returns a decider that counts all limits in {@code states}, including shared ones. */
    public static Decider local(WritablePolicyStates states) {
        return new Decider(states, QuotaSource.local());
    }

    /** Returns a decider that leaves {@code states} unchanged, for example for a dry run. */
    public static Decider readOnly(PolicyStates states, QuotaSource shared) {
        return new Decider(new ReadOnlyStates(states), shared);
    }

    /** Decides a request, and writes the changes to the states and the leases. */
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
        PolicyChecks checks = PolicyChecks.of(request, inForce.policies(), states, shared);
        PolicyCheck[] all = checks.all();
        long nowMs = checks.notBeforeMs(inForce.atMs());
        long startMs = checks.startMs(nowMs);
        long leaseTimeMs = checks.leaseTimeMs();
        checks.evaluate(nowMs, startMs, leaseTimeMs, states);
        long delayMs = throttleDelayMs(request, checks.local(), startMs - nowMs);
        PolicyCheck shaping = checks.shaping();
        AwaitLease wait = checks.recordDemand();
        if (wait != null) {
            return wait;
        }
        boolean refused = false;
        boolean rejected = false;
        for (PolicyCheck check : all) {
            boolean denies = check.denies();
            refused |= denies;
            rejected |= check.rejects() && !check.observes();
            if (check != shaping) {
                listener.evaluated(check.policy(), denies ? Outcome.DENIED : Outcome.ALLOWED);
            }
        }
        if (shaping != null) {
            listener.evaluated(shaping.policy(), refused ? Outcome.ALLOWED : Outcome.QUEUED);
        }
        boolean charged = request.kind() != RequestKind.PEEK && !rejected && checks.charge(refused, states);
        if (refused && charged) {
            throttleDelayMs(request, checks.local(), startMs - nowMs); // longer, since this denial was counted
        }
        if (refused) {
            return refusal(request, all, Math.max(nowMs, leaseTimeMs));
        }
        boolean usesLeases = checks.leased().length > 0 && request.kind() == RequestKind.CONSUME && request.cost() > 0;
        long decidedAtMs = usesLeases ? leaseTimeMs : Math.max(nowMs, leaseTimeMs);
        return shaping == null ? permission(request, checks, delayMs, decidedAtMs) : admission(request, shaping);
    }

    /**
     * Returns how long the throttling policies delay the request together.
     *
     * @param aheadMs the time from now to the last start
     */
    private static long throttleDelayMs(Request request, LocalCheck[] checks, long aheadMs) {
        long waitMs = 0;
        for (LocalCheck check : checks) {
            waitMs = Math.max(waitMs, check.computeWaitMs());
        }
        boolean takes = !request.kind().isCorrection() && request.cost() > 0;
        long delayMs = takes ? aheadMs + waitMs : 0;
        for (LocalCheck check : checks) {
            check.setDelayMs(delayMs);
        }
        return delayMs;
    }

    private static Decision refusal(Request request, PolicyCheck[] checks, long nowMs) {
        BindingLimit binding = BindingLimit.longestRetry(checks, PolicyCheck::denies);
        boolean shadowBanned = binding.policy().onExceed() instanceof OnExceed.ShadowBan;
        return decision(request, Outcome.DENIED, binding, null, false, shadowBanned, status(binding), nowMs);
    }

    private Decision mismatch(Request request, Policy policy) {
        listener.evaluated(policy, Outcome.DENIED);
        BindingLimit binding = BindingLimit.mismatch(policy);
        boolean shadowBanned = policy.onExceed() instanceof OnExceed.ShadowBan;
        return decision(
                request, Outcome.DENIED, binding, null, false, shadowBanned, status(binding), request.timestampMs());
    }

    /** Returns the HTTP status for a gateway to respond with to a denied request. */
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

    private static Decision permission(Request request, PolicyChecks checks, long delayMs, long nowMs) {
        boolean throttled = false;
        for (LocalCheck check : checks.local()) {
            throttled |= check.throttles() && !request.kind().isCorrection();
        }
        BindingLimit observed = BindingLimit.longestRetry(checks.all(), PolicyCheck::observes);
        BindingLimit binding = observed != null
                ? observed
                : delayMs > 0
                        ? BindingLimit.longestDelay(checks.local())
                        : BindingLimit.leastRemaining(checks.all(), permissionReason(request.kind()));
        Long delay = throttled ? (Long) delayMs : null;
        return decision(request, Outcome.ALLOWED, binding, delay, observed != null, false, OK, nowMs);
    }

    private static Reason permissionReason(RequestKind kind) {
        return switch (kind) {
            case SETTLE -> Reason.SETTLED;
            case RESET -> Reason.USAGE_RESET;
            default -> Reason.WITHIN_LIMITS;
        };
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
