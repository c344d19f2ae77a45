package dev.weir.decision;

import dev.weir.policy.Policy;

/**
 * What the limits of one policy say to a request: an immutable value. What a charge changes is part of the check after
 * it, and the {@link Decider} stores it. A {@link #rejects rejection} and the consequences of a refusal follow from the
 * policy; everything else differs by where the limits are counted.
 */
abstract sealed class PolicyCheck permits CountedCheck, LeasedCheck {

    final AppliedPolicy of;

    PolicyCheck(AppliedPolicy of) {
        this.of = of;
    }

    final Policy policy() {
        return of.policy;
    }

    final int size() {
        return of.terms.size();
    }

    /** Returns one limit with its terms, with the request's override if it applies. */
    final Policy.Term term(int index) {
        return of.terms.get(index);
    }

    /** See {@link AppliedPolicy#rejects}. */
    final boolean rejects() {
        return of.rejects();
    }

    final boolean observes() {
        return of.observes();
    }

    /** Returns whether one limit can never permit the request. */
    final boolean neverFits(int index) {
        return of.neverFits(index);
    }

    /** Returns whether the policy causes a denial. */
    final boolean denies() {
        return of.denies() && refuses();
    }

    /** Returns whether the policy sends the request to its queue. */
    final boolean shapes() {
        return of.shapes() && (refuses() || of.terms.isEmpty());
    }

    /**
     * Returns whether the policy {@link #rejects} or postpones the request, or a limit or the delay does not permit it.
     */
    final boolean refuses() {
        return rejects() || of.postpones() || exceeds();
    }

    /** Returns whether a limit, or the delay of a policy that throttles, does not permit the request. */
    abstract boolean exceeds();

    /** Returns whether one limit is a reason why the policy {@linkplain #refuses() refuses}. */
    abstract boolean refuses(int index);

    /** Returns whether the limits are leased, so that only the leases held here are known. */
    abstract boolean isShared();

    /**
     * Returns whether a decision that permits can name the limit. Of limits that are lent together, only one can
     * be named.
     */
    abstract boolean mayBind(int index);

    /** Returns the time at which the limits are checked, or to which the request was delayed. */
    abstract long clockMs();

    /** Returns what remains of one limit after the decision; 0 before the start of a delayed request, null if unknown. */
    abstract Long remaining(int index);

    /** Returns how long after the request the whole limit is available again; null if unknown. */
    abstract Long resetAfterMs(int index);

    /**
     * Returns how long after the request a limit that refuses permits it. Must not be called for a limit that the
     * request {@linkplain #neverFits never fits}.
     */
    abstract long retryAfterMs(int index);

    /** Returns whether a limit that refuses might have permitted the request if a lease had arrived. */
    boolean isLeaseMissing(int index) {
        return false;
    }

    /** Returns how long one limit of a policy that throttles delays the request; 0 for other policies. */
    long waitMs(int index) {
        return 0;
    }
}
