package dev.weir.lease.holder;

import dev.weir.lease.LeaseTerms;

/**
 * Tokens of a shared limit that a holder's requests needed recently, whether they were available or not. An immutable
 * value. The demand per second is the larger of the previous second's and the current second's so far.
 *
 * @param second the number of the current second
 * @param previous tokens requested in the previous second
 * @param current tokens requested in the current second so far
 * @param cost the cost of the last request, 0 if there was none
 * @param lastMs the time of the last request
 */
public record Demand(long second, long previous, long current, long cost, long lastMs) {

    static final Demand NONE = new Demand(0, 0, 0, 0, 0);

    static final long MS_PER_SECOND = 1_000;

    /** How long a key remains in use after its last request, at least. */
    private static final long MIN_IN_USE_MS = 2_000;

    Demand at(long nowMs) {
        long now = Math.floorDiv(nowMs, MS_PER_SECOND);
        if (now <= second) {
            return this;
        }
        return new Demand(now, now == second + 1 ? current : 0, 0, cost, lastMs);
    }

    Demand plus(long tokens, long nowMs) {
        Demand now = at(nowMs);
        return new Demand(now.second, now.previous, now.current + tokens, tokens, nowMs);
    }

    /**
     * Returns the demand for which leases are requested and kept before requests wait. There is none for slots: how many
     * are in use does not follow from how many are used a second.
     */
    Demand inAdvance(LeaseTerms terms) {
        return terms.lendsSlots() ? NONE : this;
    }

    /** Returns the demand within {@code ms} milliseconds, rounded down. */
    long tokensWithin(long ms) {
        return scaled(Math.max(previous, current), ms);
    }

    /** Like {@link #tokensWithin}, but by the previous second only, so a single request does not raise it. */
    long steadyTokensWithin(long ms) {
        return scaled(previous, ms);
    }

    private static long scaled(long aSecond, long ms) {
        return part(aSecond, ms, MS_PER_SECOND);
    }

    /** Returns {@code tokens * ms / ofMs}, rounded down. */
    static long part(long tokens, long ms, long ofMs) {
        return tokens / ofMs * ms + tokens % ofMs * ms / ofMs;
    }

    /** Like {@link #tokensWithin}, but at least one request's cost while the key is in use. */
    long reserve(long ms, LeaseTerms terms, long nowMs) {
        return Math.max(tokensWithin(ms), isInUse(terms, nowMs) ? cost : 0);
    }

    boolean isInUse(LeaseTerms terms, long nowMs) {
        return cost > 0 && nowMs - lastMs < inUseMs(terms);
    }

    private static long inUseMs(LeaseTerms terms) {
        return Math.max(MIN_IN_USE_MS, 2 * terms.termMs());
    }

    /** Returns the time from which the key is not in use. */
    long idleAtMs(LeaseTerms terms) {
        return cost == 0 ? Long.MIN_VALUE : lastMs + inUseMs(terms);
    }
}
