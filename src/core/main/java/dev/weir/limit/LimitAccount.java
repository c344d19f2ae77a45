package dev.weir.limit;

/**
 * A limit together with what one key has used of it.
 *
 * @param limit the terms
 * @param state the usage, in the form of the limit's algorithm
 */
public record LimitAccount<S>(Limit<S> limit, S state) {

    /** Returns the account of a key that has not been used before. */
    public static <S> LimitAccount<S> open(Limit<S> limit, long nowMs) {
        return new LimitAccount<>(limit, limit.initialState(nowMs));
    }

    /** Returns this account with another number of tokens per window; see {@link Limit#withTokens}. */
    public LimitAccount<S> withTokens(long tokens, long windowMs) {
        return new LimitAccount<>(limit.withTokens(tokens, windowMs), state);
    }

    /**
     * Returns this account with the usage of {@code other}.
     *
     * @param other this account, {@linkplain #withTokens with another number of tokens} and after charges
     */
    @SuppressWarnings("unchecked") // limits that differ in their tokens only have the same states
    public LimitAccount<S> withUsageOf(LimitAccount<?> other) {
        return other.state == state ? this : new LimitAccount<>(limit, (S) other.state);
    }

    /** Returns whether {@code cost} (0 or more) can be taken at {@code nowMs}. A cost of 0 is always permitted. */
    public boolean permits(long cost, long nowMs) {
        return cost == 0 || limit.permits(state, cost, nowMs);
    }

    /**
     * Returns the account after {@code cost} was charged, or refunded if it is negative. Returns this account if
     * nothing changes.
     */
    public LimitAccount<S> charge(long cost, long nowMs) {
        return with(cost == 0 ? state : limit.charge(state, cost, nowMs));
    }

    /**
     * Returns the account after {@code cost} (of either sign) was charged, or as much of it as leaves at most
     * {@code mostUsed} tokens in use. Never lowers what is already in use.
     */
    public LimitAccount<S> chargeUpTo(long mostUsed, long cost, long nowMs) {
        return cost <= 0 ? charge(cost, nowMs) : charge(Math.min(cost, Math.max(0, mostUsed - used(nowMs))), nowMs);
    }

    /**
     * Returns the account after a denied {@code cost} (0 or more) was charged. At most {@link Limit#maxUsedByDenied}
     * tokens are in use afterwards, unless more were in use before.
     */
    public LimitAccount<S> chargeDenied(long cost, long nowMs) {
        return chargeUpTo(limit.maxUsedByDenied(), cost, nowMs);
    }

    /** Returns the account after a charge whose cost can be {@linkplain #settled corrected}. */
    public LimitAccount<S> chargeReserved(Charge charge) {
        return with(limit.chargeReserved(state, charge));
    }

    /**
     * Returns the account as if a charge had had another cost from the start, or as much of a larger one as leaves at
     * most {@code mostUsed} tokens in use now. Forgets the charge. See {@link Limit#settled}.
     */
    public LimitAccount<S> settled(Charge charge, long actualCost, long mostUsed, long nowMs) {
        LimitAccount<S> settled = with(limit.settled(state, charge, actualCost, nowMs));
        long most = Math.max(mostUsed, used(nowMs));
        if (actualCost <= charge.cost() || settled.used(nowMs) <= most) {
            return settled;
        }
        long fits = charge.cost();
        long exceeds = actualCost;
        while (exceeds - fits > 1) {
            long middle = fits + (exceeds - fits) / 2;
            if (limit.capacity() - limit.available(limit.settled(state, charge, middle, nowMs), nowMs) <= most) {
                fits = middle;
            } else {
                exceeds = middle;
            }
        }
        return with(limit.settled(state, charge, fits, nowMs));
    }

    /** Returns the account as if some charges had been smaller. See {@link Limit#refunded}. */
    public LimitAccount<S> refunded(Charge refund, long nowMs) {
        return with(limit.refunded(state, refund, nowMs));
    }

    /** Returns the account after a charge became final. */
    public LimitAccount<S> forgotten(Charge charge) {
        return with(limit.forgotten(state, charge));
    }

    @SuppressWarnings("ReferenceEquality") // an unchanged state is the same object
    private LimitAccount<S> with(S next) {
        return next == state ? this : new LimitAccount<>(limit, next);
    }

    /**
     * Returns how long until {@code cost} is permitted if nothing else is charged, in whole milliseconds rounded up; 0
     * if it is permitted at {@code nowMs}.
     *
     * @param cost 0 or more; it must {@linkplain Limit#fits fit} the limit, since a larger cost is never permitted
     */
    public long waitMs(long cost, long nowMs) {
        return limit.waitMs(state, cost, nowMs);
    }

    /** Returns the whole tokens available at {@code nowMs}, rounded down; never below 0. */
    public long remaining(long nowMs) {
        return Math.max(0, limit.available(state, nowMs));
    }

    /** Returns how long until the whole limit is available, in milliseconds. */
    public long resetAfterMs(long nowMs) {
        return limit.waitMs(state, limit.capacity(), nowMs);
    }

    /** Returns the whole tokens in use at {@code nowMs}, rounded up. */
    public long used(long nowMs) {
        return limit.capacity() - limit.available(state, nowMs);
    }

    /** Returns the time from which this account can be deleted without changing any result. */
    public long expiresAtMs(long nowMs) {
        return limit.expiresAtMs(state, nowMs);
    }

    /**
     * Returns the whole tokens in use beyond the capacity. Returns 0 if the limit charges denied requests, since these
     * may have caused the debt.
     */
    private long debt(long nowMs) {
        return limit.countDenied() ? 0 : Math.max(0, used(nowMs) - limit.capacity());
    }

    /** Like {@link #migrateTo(Limit, long, long)}, with a debt of at most one capacity. */
    public <T> LimitAccount<T> migrateTo(Limit<T> terms, long nowMs) {
        return migrateTo(terms, terms.capacity(), nowMs);
    }

    /**
     * Returns this account under other terms with all of its usage, as far as it can be counted. For limits that
     * requests can override: some may be entitled to more than the new limit.
     */
    public <T> LimitAccount<T> migrateAllTo(Limit<T> terms, long nowMs) {
        return new LimitAccount<>(terms, terms.adopt(this, terms.maxUsed(), nowMs));
    }

    /**
     * Returns this account under other terms. Usage is kept, but capped so that the client waits no longer than one
     * that has just used the whole new limit. A debt is kept on top of that.
     *
     * @param terms the new terms
     * @param maxDebt the most debt that is kept, in tokens
     */
    public <T> LimitAccount<T> migrateTo(Limit<T> terms, long maxDebt, long nowMs) {
        long mostDebt = Math.min(maxDebt, terms.maxUsed() - terms.capacity());
        return new LimitAccount<>(terms, terms.adopt(this, terms.capacity() + Math.min(mostDebt, debt(nowMs)), nowMs));
    }
}
