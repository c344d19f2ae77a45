package dev.weir.limit;

/**
 * A limit and what one key has used of it.
 *
 * @param limit the terms
 * @param state what was used, as the limit's algorithm keeps it
 */
public record LimitAccount<S>(Limit<S> limit, S state) {

    /** The account of a key that has not asked before. */
    public static <S> LimitAccount<S> open(Limit<S> limit, long nowMs) {
        return new LimitAccount<>(limit, limit.initialState(nowMs));
    }

    /** Whether {@code cost} (0 or more) may be taken now. A cost of 0 always may. */
    public boolean permits(long cost, long nowMs) {
        return cost == 0 || limit.permits(state, cost, nowMs);
    }

    /** The account once {@code cost} was taken (or, below zero, given back); this one if nothing changes. */
    public LimitAccount<S> charge(long cost, long nowMs) {
        S next = cost == 0 ? state : limit.charge(state, cost, nowMs);
        return next == state ? this : new LimitAccount<>(limit, next);
    }

    /**
     * The account once a {@code cost} of either sign was charged, or as much of it as leaves at most {@code mostUsed}
     * tokens in use. What is in use already stays in use.
     */
    public LimitAccount<S> chargeUpTo(long mostUsed, long cost, long nowMs) {
        return cost <= 0 ? charge(cost, nowMs) : charge(Math.min(cost, Math.max(0, mostUsed - used(nowMs))), nowMs);
    }

    /**
     * The account once a {@code cost} (0 or more) that was denied is counted: at most {@link Limit#maxUsedByDenied} are
     * in use then.
     */
    public LimitAccount<S> chargeDenied(long cost, long nowMs) {
        return chargeUpTo(limit.maxUsedByDenied(), cost, nowMs);
    }

    /**
     * How long until {@code cost} passes if nothing else is charged, in whole milliseconds rounded up; 0 if it passes
     * now.
     *
     * @param cost 0 or more, and one that {@linkplain Limit#fits fits} the limit: any other never passes
     */
    public long waitMs(long cost, long nowMs) {
        return limit.waitMs(state, cost, nowMs);
    }

    /** Whole tokens that can be had now, rounded down; never below 0. */
    public long remaining(long nowMs) {
        return Math.max(0, limit.available(state, nowMs));
    }

    /** How long until the whole limit is free again. */
    public long resetAfterMs(long nowMs) {
        return limit.waitMs(state, limit.capacity(), nowMs);
    }

    /** Whole tokens in use now, rounded up. */
    public long used(long nowMs) {
        return limit.capacity() - limit.available(state, nowMs);
    }

    /** From when on this account may be forgotten without anybody noticing. */
    public long expiresAtMs(long nowMs) {
        return limit.expiresAtMs(state, nowMs);
    }

    /** Whole tokens that are in use beyond the capacity; 0 if none are, or if denied requests may have caused them. */
    private long debt(long nowMs) {
        return limit.countDenied() ? 0 : Math.max(0, used(nowMs) - limit.capacity());
    }

    /** As {@link #migrateTo(Limit, long, long)}, with a debt of up to one capacity. */
    public <T> LimitAccount<T> migrateTo(Limit<T> terms, long nowMs) {
        return migrateTo(terms, terms.capacity(), nowMs);
    }

    /**
     * This account under other terms: what was used stays used, but only so much that the client waits no longer than
     * one that has just used the whole of the new limit. A debt comes on top.
     *
     * @param maxDebt the most of a debt that stays, in tokens
     */
    public <T> LimitAccount<T> migrateTo(Limit<T> terms, long maxDebt, long nowMs) {
        long mostDebt = Math.min(maxDebt, terms.maxUsed() - terms.capacity());
        return new LimitAccount<>(terms, terms.adopt(this, terms.capacity() + Math.min(mostDebt, debt(nowMs)), nowMs));
    }
}
