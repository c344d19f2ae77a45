package dev.weir.decision;

import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;

/**
 * A policy whose limits are asked by what is held of them, with what is the same for all requests: who holds enough of
 * all that apply has {@link Decider}'s decision without asking it.
 */
public final class LeasedPolicyDecider {

    private static final Decision.Status PERMITTED = Decision.Status.allowed(Reason.WITHIN_LIMITS);

    private final Policy policy;
    private final LeaseTerms terms;
    private final PolicyVersion version;
    private final Policy.Term term; // null if nothing is limited
    private final Long limit;

    /** @param longest how quota is lent where windows are long */
    public LeasedPolicyDecider(Policy policy, LeaseTerms longest) {
        this.policy = policy;
        terms = policy.terms(longest);
        version = policy.versionId();
        Policy.Term tightest = policy.terms().get(policy.tightestIndex());
        term = tightest.limit() instanceof Unlimited ? null : tightest;
        limit = term == null ? null : (Long) term.limit().capacity();
    }

    /**
     * Whether clients may decide by what they hold of it. What also needs a queue, or what was answered before, is not
     * decided there.
     */
    public static boolean isForClients(Policy policy) {
        return policy.isShared() && policy.sharing().byClients() && !policy.shapes() && policy.idempotencyMs() == 0;
    }

    public Policy policy() {
        return policy;
    }

    /** How its limits are lent. */
    public LeaseTerms terms() {
        return terms;
    }

    /** Whether the request is small enough. */
    public boolean permitsSize(Request request) {
        return !policy.isTooLarge(request);
    }

    /**
     * Whether a decision that permits is explained by this policy rather than by one of a layer before.
     *
     * @param remaining what is left at hand of this one
     * @param itsRemaining of the other one
     */
    public boolean isBinding(long remaining, LeasedPolicyDecider before, long itsRemaining) {
        if (term == null || before.term == null) {
            return term != null;
        }
        return policy.observes() == before.policy.observes() ? remaining < itsRemaining : before.policy.observes();
    }

    /**
     * The decision on a request that takes its cost of this and of all others that apply, and is explained by this one.
     *
     * @param remaining what is left at hand after it
     */
    public Decision allowedDecision(Request request, long remaining, long nowMs) {
        return new Decision(
                new Decision.Identity(request.requestId(), request.client(), Request.Source.NONE),
                PERMITTED,
                Decision.Timing.passed(nowMs),
                version,
                term == null ? null : status(remaining, nowMs),
                null,
                DecisionContext.UNKNOWN);
    }

    private LimitStatus status(long remaining, long nowMs) {
        long windowMs = term.limit().windowMs(nowMs);
        return new LimitStatus(term.label(), limit, windowMs == 0 ? null : (Long) windowMs, remaining, null);
    }
}
