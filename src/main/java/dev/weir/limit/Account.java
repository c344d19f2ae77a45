package dev.weir.limit;

/**
 * A limit and what one key has used of it.
 *
 * @param limit the terms
 * @param state what was used, as the limit's algorithm keeps it
 */
public record Account<S>(Limit<S> limit, S state) {

    /** The account of a key that has not asked before. */
    public static <S> Account<S> open(Limit<S> limit, long nowMs) {
        return new Account<>(limit, limit.fresh(nowMs));
    }

    /** Whether {@code cost} (0 or more) may be taken now. A cost of 0 always may. */
    public boolean permits(long cost, long nowMs) {
        return cost == 0 || limit.permits(state, cost, nowMs);
    }

    /** The account once {@code cost} was taken (or, below zero, given back); this one if nothing changes. */
    public Account<S> charge(long cost, long nowMs) {
        S next = cost == 0 ? state : limit.charge(state, cost, nowMs);
        return next == state ? this : new Account<>(limit, next);
    }

    /** How long until {@code cost} (0 or more) passes; {@link Long#MAX_VALUE} if it never does. */
    public long waitMs(long cost, long nowMs) {
        return cost > limit.capacity() ? Long.MAX_VALUE : limit.waitMs(state, cost, nowMs);
    }

    /** What this account says to a request of {@code cost} that it {@linkplain #permits permits} or not. */
    public Verdict verdict(boolean permitted, long cost, long nowMs) {
        long remaining = remaining(nowMs);
        long resetAfterMs = resetAfterMs(nowMs);
        if (permitted) {
            return new Verdict.Allowed(remaining, resetAfterMs);
        }
        return cost > limit.capacity()
                ? new Verdict.NeverFits(remaining, resetAfterMs)
                : new Verdict.Denied(remaining, resetAfterMs, limit.waitMs(state, cost, nowMs));
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
    public long forgettableAtMs(long nowMs) {
        return limit.forgettableAtMs(state, nowMs);
    }

    /** This account under other terms: what was used stays used. */
    public <T> Account<T> under(Limit<T> terms, long nowMs) {
        return new Account<>(terms, terms.adopt(this, nowMs));
    }
}
