package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.List;

/** A policy that applies to a request, with what follows from these two before any limit is evaluated. Immutable. */
abstract sealed class AppliedPolicy permits CountedPolicy, LeasedPolicy {

    /** The consequence if the policy does not permit the request. */
    private enum Role {
        DENIES,
        OBSERVES,
        SHAPES
    }

    final Policy policy;
    final Request request;
    final StateKey key;
    final List<Policy.Term> terms;
    private final Role role;
    private final boolean tooLarge;
    private final boolean refund;

    AppliedPolicy(Policy policy, Request request) {
        this.policy = policy;
        this.request = request;
        this.key = policy.stateKey(request);
        this.terms = policy.termsFor(request);
        this.tooLarge = policy.isTooLarge(request) && !request.kind().isCorrection();
        this.refund = request.kind() == RequestKind.SETTLE && request.cost() < 0 && policy.deniesRefunds();
        this.role = policy.observes() ? Role.OBSERVES : policy.shapes() && !rejects() ? Role.SHAPES : Role.DENIES;
    }

    final boolean isTooLarge() {
        return tooLarge;
    }

    /**
     * Returns whether the policy refuses the request whatever its limits permit: it is too large, or a refund of a
     * shared limit.
     */
    final boolean rejects() {
        return tooLarge || refund;
    }

    /** Returns whether the policy denies a request that it refuses. */
    final boolean denies() {
        return role == Role.DENIES;
    }

    final boolean observes() {
        return role == Role.OBSERVES;
    }

    /** Returns whether the policy sends a request that it refuses to its queue. */
    final boolean shapes() {
        return role == Role.SHAPES && !request.kind().isCorrection();
    }

    /**
     * Returns whether the policy throttles. Its time can run ahead of requests, to the start of those that it delayed.
     */
    final boolean throttles() {
        return policy.onExceed() instanceof OnExceed.Throttle;
    }

    /** Returns whether the policy sends the request to its queue because it must not start yet, whatever the limits permit. */
    final boolean postpones() {
        return request.isPostponed() && shapes();
    }

    /** Returns whether the request takes tokens, so that it can be delayed, or wait. */
    final boolean takes() {
        return !request.kind().isCorrection() && request.cost() > 0 && !postpones();
    }

    /** Returns whether one limit can never permit the request, because the cost exceeds its capacity. */
    final boolean neverFits(int index) {
        return !terms.get(index).limit().fits(request.cost());
    }
}
