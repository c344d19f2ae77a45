package dev.weir.decision;

import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import java.util.List;

/**
 * A fast path for requests that leases permit. It precomputes the parts of a decision that are the same for all
 * requests of a policy. If the leases suffice for all policies that apply, its decision equals that of {@link Decider}.
 */
public final class LeasedPolicyDecider {

    private static final Decision.Status PERMITTED = Decision.Status.allowed(Reason.WITHIN_LIMITS);

    private final Policy policy;
    private final LeaseTerms terms;
    private final PolicyVersion version;
    private final Policy.Term term; // null if nothing is limited
    private final Long limit;

    /** @param longest the timing of leases for long windows */
    public LeasedPolicyDecider(Policy policy, LeaseTerms longest) {
        this.policy = policy;
        terms = policy.leaseTerms(longest);
        version = policy.versionId();
        Policy.Term tightest = policy.terms().get(policy.tightestIndex());
        term = tightest.limit() instanceof Unlimited ? null : tightest;
        limit = term == null ? null : (Long) term.limit().capacity();
    }

    /**
     * Returns whether clients can decide by leases of the policy. Queues, idempotency and reservations, which limits of
     * concurrency need, have state that clients do not have.
     */
    public static boolean isForClients(Policy policy) {
        return policy.isShared()
                && policy.sharing().byClients()
                && !policy.shapes()
                && policy.idempotencyMs() == 0
                && !policy.limitsConcurrency();
    }

    public Policy policy() {
        return policy;
    }

    /** Returns the timing of leases. */
    public LeaseTerms terms() {
        return terms;
    }

    /** Returns whether the request does not exceed the policy's {@code max-size}. */
    public boolean permitsSize(Request request) {
        return !policy.isTooLarge(request);
    }

    /**
     * Returns whether this policy, rather than one of an earlier layer, explains a decision that permits. Neither may only
     * observe.
     *
     * @param remaining what remains of this policy
     * @param itsRemaining what remains of {@code before}
     */
    public boolean isBinding(long remaining, LeasedPolicyDecider before, long itsRemaining) {
        if (term == null || before.term == null) {
            return term != null;
        }
        return remaining < itsRemaining;
    }

    /**
     * Adds the limits of this policy to those that a decision lists, as long as there are fewer than
     * {@value EnforcedLimit#MOST}.
     *
     * @param remaining what remains of this policy
     */
    public void addLimits(long remaining, long nowMs, List<EnforcedLimit> to) {
        for (int i = 0; i < policy.terms().size() && to.size() < EnforcedLimit.MOST; i++) {
            Policy.Term each = policy.terms().get(i);
            if (EnforcedLimits.isListed(policy, each)) {
                Long left = i == policy.tightestIndex() ? (Long) remaining : null;
                to.add(EnforcedLimits.of(policy, i, each, nowMs, left, null, null));
            }
        }
    }

    /**
     * Returns the decision on a request that all policies permit and that this policy explains.
     *
     * @param remaining what remains after the request
     * @param limits the limits of all policies, by layer
     */
    public Decision allowedDecision(Request request, long remaining, List<EnforcedLimit> limits, long nowMs) {
        return new Decision(
                new Decision.Identity(request.requestId(), request.client(), request.tier(), Request.Source.NONE),
                PERMITTED,
                Decision.Timing.passed(nowMs),
                new Decision.Explanation(version, term == null ? null : status(remaining, nowMs), limits),
                null,
                DecisionContext.UNKNOWN);
    }

    private LimitStatus status(long remaining, long nowMs) {
        long windowMs = term.limit().windowMs(nowMs);
        return new LimitStatus(term.label(), limit, windowMs == 0 ? null : (Long) windowMs, remaining, null);
    }
}
