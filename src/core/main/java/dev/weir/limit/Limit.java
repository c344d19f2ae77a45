package dev.weir.limit;

/**
 * A quota and the algorithm that counts it. A limit holds the terms, its state is a value: every method is a pure
 * function of terms, state, cost and time, so the same requests give the same answers on any machine.
 *
 * <p>Two phases, because a request must pass all of its limits before any of them is charged: ask each limit whether
 * it {@linkplain #permits permits} the cost, then {@linkplain #charge charge} each one.
 *
 * <pre>
 *   permits(c, t)  ⟺  c = 0  or  c ≤ available(state, t)
 *   wait(c, t)      =  min { d ≥ 0 : c ≤ available(state, t + d) }
 * </pre>
 *
 * <p>Costs are whole tokens, times are milliseconds since the epoch. For one state, callers never pass a time before
 * that of the last charge.
 *
 * @param <S> the state that this algorithm keeps, an immutable value
 */
public sealed interface Limit<S>
        permits AlignedWindow, SlidingWindowLog, SlidingWindowCounter, Meter, IntervalBucket, Gcra, Unlimited, Blocked {

    /** Costs and levels saturate here (in tokens or units): far above any limit, far below overflow. */
    long MAX_LEVEL = 1L << 61;

    /** The largest capacity: a state can then hold a whole capacity of debt, and stays exact. */
    long MAX_CAPACITY = MAX_LEVEL / 2;

    /** The most that can be had at once; a larger cost never passes. */
    long capacity();

    /** Whether {@code cost} passes at some time: it is at most the {@link #capacity}. */
    default boolean fits(long cost) {
        return cost <= capacity();
    }

    /** The most tokens in use that a state counts exactly, at least twice the {@link #capacity}. */
    long maxUsed();

    /**
     * The time in which the whole capacity comes once: a window, or how long an empty bucket takes to fill. Whole
     * milliseconds, rounded up; 0 if there is no such time.
     */
    long windowMs(long nowMs);

    /** When the window of {@code nowMs} ends; {@link Long#MAX_VALUE} for limits that do not count by windows. */
    default long windowEndsMs(long nowMs) {
        return Long.MAX_VALUE;
    }

    /** Whether denied requests count as well. */
    boolean countDenied();

    /**
     * How many tokens may be in use once a denied cost was counted: one extra capacity. So a client that stops is
     * served again within two windows, however much it was denied.
     */
    default long maxUsedByDenied() {
        return 2 * capacity();
    }

    /** The state of one who has not asked before. */
    S initialState(long nowMs);

    /** Whole tokens that can be had now, rounded down; below zero while in debt. */
    long available(S state, long nowMs);

    /**
     * Whether {@code cost} may be taken now: at most what is {@linkplain #available available}.
     *
     * @param cost above 0
     */
    default boolean permits(S state, long cost, long nowMs) {
        return cost <= available(state, nowMs);
    }

    /**
     * How long until {@code cost} passes if nothing else comes, in whole milliseconds rounded up; 0 if it passes now.
     *
     * @param cost 0 or more, and one that {@linkplain #fits fits}
     */
    long waitMs(S state, long cost, long nowMs);

    /**
     * The state once {@code cost} was taken, without asking whether it is available: a state may go into debt. A
     * negative cost gives back, never to more than the capacity.
     */
    S charge(S state, long cost, long nowMs);

    /** From this time on the state says what a {@linkplain #initialState fresh} one says, if nothing else comes. */
    default long expiresAtMs(S state, long nowMs) {
        return nowMs + waitMs(state, capacity(), nowMs);
    }

    /** Whether what was used under {@code old} stays used with its times when these terms replace it. */
    default boolean isCompatibleWith(Limit<?> old) {
        return false;
    }

    /**
     * The state to go on with when these terms replace those of {@code old}: that of terms which these {@linkplain
     * #isCompatibleWith continue} is kept; else what is in use stays in use, in whole tokens rounded up, as if it had
     * all been taken now. Where the wait grows with what is in use, at most {@code mostUsed} stays in use.
     *
     * @param mostUsed at least the capacity, so that the client waits no longer than one that has just used as much
     */
    default S adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        return charge(initialState(nowMs), Math.min(mostUsed, old.used(nowMs)), nowMs);
    }

    /** Throws unless {@code value} is positive and at most {@link #MAX_LEVEL}. */
    static long requirePositive(String name, long value) {
        if (value < 1 || value > MAX_LEVEL) {
            throw new IllegalArgumentException(name + " must be 1 to " + MAX_LEVEL + ", is " + value);
        }
        return value;
    }

    /** Throws unless {@code value} is positive and at most {@link #MAX_CAPACITY}. */
    static long requireCapacity(String name, long value) {
        if (value < 1 || value > MAX_CAPACITY) {
            throw new IllegalArgumentException(name + " must be 1 to " + MAX_CAPACITY + ", is " + value);
        }
        return value;
    }

    /** {@code a + b} for a level in 0..{@link #MAX_LEVEL} and any b, kept in that range. */
    static long addToLevel(long level, long change) {
        return Math.max(0, Math.min(MAX_LEVEL, level + Math.max(-MAX_LEVEL, Math.min(MAX_LEVEL, change))));
    }
}
