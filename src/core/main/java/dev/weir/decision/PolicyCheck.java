package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.List;

/**
 * The check of one request against one policy. It is evaluated once; then the policy's limits are charged or left as
 * they were.
 */
abstract class PolicyCheck {

    /** The consequence if the policy does not permit the request. */
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
    private final List<Policy.Term> terms;

    PolicyCheck(Policy policy, Request request) {
        this.policy = policy;
        this.request = request;
        this.key = policy.stateKey(request);
        this.tooLarge = policy.isTooLarge(request) && !request.kind().isCorrection();
        this.refund = request.kind() == RequestKind.SETTLE && request.cost() < 0 && policy.deniesRefunds();
        this.role = role();
        this.terms = policy.termsFor(request);
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
        return terms.size();
    }

    /** Returns one limit with its terms, with the request's override if it applies. */
    final Policy.Term term(int index) {
        return terms.get(index);
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

    final boolean observes() {
        return role == Role.OBSERVES;
    }

    /**
     * Returns whether the policy throttles. Its time can run ahead of requests, to the start of those that it delayed.
     */
    final boolean throttles() {
        return policy.onExceed() instanceof OnExceed.Throttle;
    }

    /**
     * Returns whether the policy {@linkplain #rejects rejects} the request, or a limit or the delay does not permit it.
     */
    final boolean refuses() {
        return role == Role.THROTTLES ? isTooLate() : rejects() || exceeds();
    }

    /** Returns whether one limit is a reason why the policy {@linkplain #refuses refuses}. */
    final boolean refuses(int index) {
        return role == Role.THROTTLES ? isTooLate(index) : exceeds(index);
    }

    /** Returns whether the policy causes a denial. */
    final boolean denies() {
        return refuses() && (role == Role.ENFORCES || role == Role.THROTTLES);
    }

    /** Returns whether the policy sends the request to its queue. */
    final boolean shapes() {
        return role == Role.SHAPES && !request.kind().isCorrection() && (refuses() || terms.isEmpty());
    }

    /** Returns whether the limits are leased, so that only the leases held here are known. */
    abstract boolean isShared();

    /** Returns whether some limit does not permit the request now. */
    abstract boolean exceeds();

    abstract boolean exceeds(int index);

    /**
     * Returns whether a decision that permits can name the limit. Of limits that are lent together, only one can
     * be named.
     */
    abstract boolean mayBind(int index);

    /** Returns whether the delay would be longer than permitted. */
    abstract boolean isTooLate();

    abstract boolean isTooLate(int index);

    /** Returns the time at which the limits are checked, or to which the request was delayed. */
    abstract long clockMs();

    /** Returns what remains of one limit after the decision; 0 before the start of a delayed request, null if unknown. */
    abstract Long remaining(int index);

    /** Returns how long after the request the whole limit is available again; null if unknown. */
    abstract Long resetAfterMs(int index);

    /** Returns whether one limit can never permit the request, because the cost exceeds its capacity. */
    final boolean neverFits(int index) {
        return !term(index).limit().fits(request.cost());
    }

    /**
     * Returns how long after the request a limit that refuses permits it. Must not be called for a limit that the
     * request {@linkplain #neverFits never fits}.
     */
    abstract long retryAfterMs(int index);

    /** Returns whether a limit that refuses might have permitted the request if a lease had arrived. */
    boolean isLeaseMissing(int index) {
        return false;
    }

    /**
     * Returns how long after its clock one limit permits the request. Only for a policy that throttles and whose limits
     * the request fits.
     */
    abstract long waitMs(int index);
}
