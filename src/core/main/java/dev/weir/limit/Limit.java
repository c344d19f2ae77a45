package dev.weir.limit;

import java.util.OptionalLong;

/**
 * A quota and the algorithm that counts its use. A limit holds the terms; its state is an immutable value. Every method
 * is a pure function of terms, state, cost and time, so the same requests get the same results on every machine.
 *
 * <p>A request that has several limits must pass all of them before any is charged. So callers first check that each
 * limit {@linkplain #permits permits} the cost and then {@linkplain #charge charge} each one.
 *
 * <pre>
 *   permits(c, t)  ⟺  c = 0  or  c ≤ available(state, t)
 *   wait(c, t)      =  min { d ≥ 0 : c ≤ available(state, t + d) }
 * </pre>
 *
 * <p>Costs are whole tokens. Times are milliseconds since the epoch. For one state, callers must never pass a time
 * before that of the last charge.
 *
 * @param <S> the state of the algorithm, an immutable value
 */
public sealed interface Limit<S>
        permits AlignedWindow,
                SlidingWindowLog,
                SlidingWindowCounter,
                ContinuousBucket,
                IntervalBucket,
                Gcra,
                Concurrency,
                UncountedLimit {

    /**
     * The bound of costs and levels, in tokens or units: larger values saturate. It is far above any limit and far
     * below overflow.
     */
    long MAX_LEVEL = 1L << 61;

    /** The largest capacity. A state can hold one more capacity of debt and stays exact. */
    long MAX_CAPACITY = MAX_LEVEL / 2;

    /** Returns the most tokens that can be used at once. A larger cost is never permitted. */
    long capacity();

    /**
     * Returns whether usage is counted. If everything or nothing is permitted, it is not: such a limit suspends the one
     * that it replaces.
     */
    default boolean countsUsage() {
        return true;
    }

    /** Returns whether {@code cost} can ever be permitted, that is, whether it is at most the {@link #capacity}. */
    default boolean fits(long cost) {
        return cost <= capacity();
    }

    /** Returns the most tokens in use that a state counts exactly: at least twice the {@link #capacity}. */
    long maxUsed();

    /**
     * Returns the time in which the whole capacity becomes available once: the length of the window, or the time to
     * refill an empty bucket. In whole milliseconds, rounded up; 0 if there is no such time.
     */
    long windowMs(long nowMs);

    /**
     * Returns the tokens that become available in {@link #ratePeriodMs}, in the long run: {@code limit} of the policy. It
     * can be less or more than the {@link #capacity}.
     */
    default long rateTokens() {
        return capacity();
    }

    /** Returns the time in which {@link #rateTokens} become available: {@code per} of the policy; 0 if there is none. */
    default long ratePeriodMs(long nowMs) {
        return windowMs(nowMs);
    }

    /**
     * Returns whether another limit has the same algorithm and counts for the same time, such as a window of the same
     * length. The number of tokens does not matter.
     */
    boolean hasSamePeriodAs(Limit<?> other);

    /**
     * Returns when the window of {@code nowMs} ends; empty for limits that do not count by windows.
     */
    default OptionalLong windowEndMs(long nowMs) {
        return OptionalLong.empty();
    }

    /** Returns whether denied requests are charged too. */
    boolean countDenied();

    /**
     * Returns how many tokens can be in use after a denied cost was charged: by default, twice the capacity. A client
     * that stops is therefore served again within two windows, however many of its requests were denied.
     */
    default long maxUsedByDenied() {
        return 2 * capacity();
    }

    /** Returns the state of a key that has not been used before. */
    S initialState(long nowMs);

    /** Returns the whole tokens available at {@code nowMs}, rounded down; negative while the state is in debt. */
    long available(S state, long nowMs);

    /**
     * Returns whether {@code cost} can be taken at {@code nowMs}, that is, whether it is at most what is
     * {@linkplain #available available}.
     *
     * @param cost tokens, above 0
     */
    default boolean permits(S state, long cost, long nowMs) {
        return cost <= available(state, nowMs);
    }

    /**
     * Returns how long until {@code cost} is permitted if nothing else is charged, in whole milliseconds rounded up; 0
     * if it is permitted at {@code nowMs}.
     *
     * @param cost tokens, 0 or more; it must {@linkplain #fits fit}
     */
    long waitMs(S state, long cost, long nowMs);

    /**
     * Returns the state after {@code cost} was taken. Does not check whether the cost is available, so the state can go
     * into debt. A negative cost is a refund, which never raises what is available above the capacity.
     */
    S charge(S state, long cost, long nowMs);

    /**
     * Returns the state after a charge whose cost can be corrected by {@link #settled} until it is {@link #forgotten}.
     * What is available is the same as after {@link #charge} of the cost at the time of the charge.
     */
    default S chargeReserved(S state, Charge charge) {
        return charge(state, charge.cost(), charge.atMs());
    }

    /**
     * Returns the state as if the charge had had another cost from the start, and forgets the charge. What has passed
     * since then has passed. A refund of tokens that would have been lost, because their window has ended or the bucket
     * was full, frees nothing. A debt that would have been paid costs nothing. Returns the same state if nothing
     * changes.
     *
     * <p>The caller settles each charge once at most, and only if its usage is still counted with its time: not after
     * the usage was reset, or converted to {@linkplain #isCompatibleWith incompatible} terms.
     *
     * @param charge a charge of this state that is not forgotten
     * @param actualCost the tokens to charge instead of its cost, 0 or more
     * @param nowMs the current time, from which on less or more is in use
     */
    S settled(S state, Charge charge, long actualCost, long nowMs);

    /**
     * Returns the state as if some charges had been smaller by some tokens in all, which can still be corrected. They
     * are known by their number and a time: which of the charges with this number from then on had the tokens is not
     * said. So the usage is never less than if any of them had. Refunds what {@link #settled} with a smaller cost would,
     * or less, and nothing that has passed since.
     *
     * <p>The charge that had the tokens must have been {@linkplain #chargeReserved correctable}, and no charge may have
     * been settled or {@linkplain #forgotten}. Several charges can have one number.
     *
     * @param refund the number of the charges, a time that is not after theirs, and the tokens
     * @param nowMs the current time, not before the last charge
     */
    default S refunded(S state, Charge refund, long nowMs) {
        return settled(state, new Charge(0, refund.atMs(), refund.cost()), 0, nowMs);
    }

    /** Returns the state without the means to correct a charge, which is final. */
    default S forgotten(S state, Charge charge) {
        return state;
    }

    /**
     * Returns the time from which the state is equivalent to an {@linkplain #initialState initial} one, if nothing else
     * is charged.
     */
    default long expiresAtMs(S state, long nowMs) {
        return nowMs + waitMs(state, capacity(), nowMs);
    }

    /**
     * Returns whether requests can replace the number of tokens. They can if the state counts tokens by window, whatever
     * the number, so that the same count serves requests with different numbers.
     */
    default boolean isOverridable() {
        return false;
    }

    /**
     * Returns this limit with another number of tokens per window, if it {@linkplain #isOverridable can be overridden}
     * and its windows are {@code windowMs} long; otherwise this limit. Both limits have the same states.
     *
     * @param tokens 0 to {@link #MAX_CAPACITY}; a number that cannot be counted exactly is lowered to the largest one
     *     that can
     */
    default Limit<S> withTokens(long tokens, long windowMs) {
        return this;
    }

    /** Returns whether usage under {@code old} keeps its times when these terms replace it. */
    default boolean isCompatibleWith(Limit<?> old) {
        return false;
    }

    /**
     * Returns the state to continue with when these terms replace those of {@code old}. If the terms are
     * {@linkplain #isCompatibleWith compatible}, the old state is kept. Otherwise all tokens in use, rounded up to
     * whole tokens, count as used at {@code nowMs}. For algorithms whose wait grows with the tokens in use, at most
     * {@code mostUsed} remain in use.
     *
     * @param mostUsed at least the capacity, so that the client waits no longer than one that has just used that
     *     many tokens
     */
    default S adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        return charge(initialState(nowMs), Math.min(mostUsed, old.used(nowMs)), nowMs);
    }

    /** @throws IllegalArgumentException unless {@code value} is 1 to {@link #MAX_LEVEL} */
    static long requirePositive(String name, long value) {
        if (value < 1 || value > MAX_LEVEL) {
            throw new IllegalArgumentException(name + " must be 1 to " + MAX_LEVEL + ", is " + value);
        }
        return value;
    }

    /** @throws IllegalArgumentException unless {@code value} is 1 to {@link #MAX_CAPACITY} */
    static long requireCapacity(String name, long value) {
        if (value < 1 || value > MAX_CAPACITY) {
            throw new IllegalArgumentException(name + " must be 1 to " + MAX_CAPACITY + ", is " + value);
        }
        return value;
    }

    /** @throws IllegalArgumentException unless {@code value} is 0 to {@link #MAX_CAPACITY} */
    static long requireTokens(String name, long value) {
        if (value < 0 || value > MAX_CAPACITY) {
            throw new IllegalArgumentException(name + " must be 0 to " + MAX_CAPACITY + ", is " + value);
        }
        return value;
    }

    /**
     * Returns {@code level + change}, clamped to 0..{@link #MAX_LEVEL}.
     *
     * @param level 0 to {@link #MAX_LEVEL}
     * @param change any number
     */
    static long addToLevel(long level, long change) {
        return Math.max(0, Math.min(MAX_LEVEL, level + Math.max(-MAX_LEVEL, Math.min(MAX_LEVEL, change))));
    }
}
