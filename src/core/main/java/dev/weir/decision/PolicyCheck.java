package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;

/** What one policy has to say about one request: asked once, then charged or left as it was. */
abstract class PolicyCheck {

    /** What it means if the policy does not permit the request. */
    private enum Role {
        ENFORCES,
        THROTTLES,
        OBSERVES,
        SHAPES
    }

    final Policy policy;
    final Request request;
    final StateKey key;
    private final Role role;
    private final boolean tooLarge;
    private final boolean refund;

    PolicyCheck(Policy policy, Request request) {
        this.policy = policy;
        this.request = request;
        this.key = policy.stateKey(request);
        this.tooLarge = policy.isTooLarge(request) && request.kind() != RequestKind.SETTLE;
        this.refund = request.kind() == RequestKind.SETTLE && request.cost() < 0 && policy.deniesRefunds();
        this.role = role();
    }

    private Role role() {
        if (policy.observes()) {
            return Role.OBSERVES;
        }
        return rejects() ? Role.ENFORCES : throttles() ? Role.THROTTLES : policy.shapes() ? Role.SHAPES : Role.ENFORCES;
    }

    final Policy policy() {
        return policy;
    }

    final int size() {
        return policy.terms().size();
    }

    /** The terms of one limit. */
    final Policy.Term term(int index) {
        return policy.terms().get(index);
    }

    final boolean isTooLarge() {
        return tooLarge;
    }

    /**
     * Whether the policy refuses the request whatever its limits permit: it is too large, or a refund of a shared
     * limit.
     */
    final boolean rejects() {
        return tooLarge || refund;
    }

    final boolean observes() {
        return role == Role.OBSERVES;
    }

    /** Whether its time runs ahead of the requests', at the moments to which it puts them off. */
    final boolean throttles() {
        return policy.onExceed() instanceof OnExceed.Throttle;
    }

    /** Whether the policy {@linkplain #rejects rejects} the request, or a limit or the delay does not permit it. */
    final boolean refuses() {
        return role == Role.THROTTLES ? isTooLate() : rejects() || exceeds();
    }

    /** Whether one limit is why the policy {@linkplain #refuses refuses}. */
    final boolean refuses(int index) {
        return role == Role.THROTTLES ? isTooLate(index) : exceeds(index);
    }

    /** Whether it lets the request be denied. */
    final boolean denies() {
        return refuses() && (role == Role.ENFORCES || role == Role.THROTTLES);
    }

    /** Whether it sends the request to its queue. */
    final boolean shapes() {
        return role == Role.SHAPES
                && request.kind() != RequestKind.SETTLE
                && (refuses() || policy.terms().isEmpty());
    }

    /** Whether others count what it counts as well, so that only what is at hand is known of it here. */
    abstract boolean isShared();

    /** Whether some limit does not permit the request now. */
    abstract boolean exceeds();

    abstract boolean exceeds(int index);

    /** Whether a decision that permits may name the limit: of those that are lent together, only one. */
    abstract boolean mayBind(int index);

    /** Whether the request would be put off for too long. */
    abstract boolean isTooLate();

    abstract boolean isTooLate(int index);

    /** The time that it is asked at, or to which the request was put off. */
    abstract long clockMs();

    /** What can be had of one limit now, once it was charged or left as it was; nothing before what was put off. */
    abstract long remaining(int index);

    /** From the request's time on, when the whole of one limit is free again; null if that is not known here. */
    abstract Long resetAfterMs(int index);

    /** Whether one limit never permits the request: the cost is above its capacity. */
    final boolean neverFits(int index) {
        return !term(index).limit().fits(request.cost());
    }

    /**
     * Returns the time from the request until one limit that refuses permits it. Not for a limit that it {@linkplain
     * #neverFits never fits}.
     */
    abstract long retryAfterMs(int index);

    /** Whether one limit that refuses would perhaps permit the request if a lease had arrived. */
    boolean isLeaseMissing(int index) {
        return false;
    }

    /**
     * Returns the time from its clock until one limit permits the request. Only if the policy throttles and the request
     * fits all of its limits.
     */
    abstract long waitMs(int index);
}
