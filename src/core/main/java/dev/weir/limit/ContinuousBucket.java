package dev.weir.limit;

/**
 * A bucket whose level rises by each cost and sinks at the rate. A cost is permitted if the level then stays within the
 * burst. {@link TokenBucket} and {@link LeakyBucket} are two descriptions of it (tokens = burst − level) and share this
 * arithmetic. Each operation takes O(1).
 *
 * <pre>
 *   burst 10, 5 tokens a second   t=500: level 0, cost 10 is permitted → level 10
 *                                 t=700: level 9, cost 2 is denied     → retry at t=900, when the level is 8
 * </pre>
 */
public sealed interface ContinuousBucket extends Limit<ContinuousBucket.Level> permits TokenBucket, LeakyBucket {

    /**
     * The level of a bucket at a point in time.
     *
     * @param units the level in units of the {@link Rate}, 0 to {@link Limit#MAX_LEVEL}
     * @param atMs the time of the level, in milliseconds since the epoch
     */
    record Level(long units, long atMs) {}

    Rate rate();

    /** Returns the capacity in tokens. */
    long burst();

    @Override
    default long capacity() {
        return burst();
    }

    @Override
    default long maxUsed() {
        return rate().maxTokens();
    }

    @Override
    default boolean hasSamePeriodAs(Limit<?> other) {
        return other.getClass() == getClass()
                && ((ContinuousBucket) other).rate().perMs() == rate().perMs();
    }

    @Override
    default long rateTokens() {
        return rate().tokens();
    }

    @Override
    default long ratePeriodMs(long nowMs) {
        return rate().perMs();
    }

    @Override
    default long windowMs(long nowMs) {
        return rate().msToFlow(rate().units(burst()));
    }

    @Override
    default Level initialState(long nowMs) {
        return new Level(0, nowMs);
    }

    @Override
    default long available(Level level, long nowMs) {
        return rate().wholeTokens(rate().units(burst()) - unitsAt(level, nowMs));
    }

    @Override
    default boolean permits(Level level, long cost, long nowMs) {
        return cost <= burst() && unitsAt(level, nowMs) <= rate().units(burst() - cost);
    }

    @Override
    default long waitMs(Level level, long cost, long nowMs) {
        return rate().msToFlow(unitsAt(level, nowMs) - rate().units(burst() - cost));
    }

    @Override
    default Level charge(Level level, long cost, long nowMs) {
        return new Level(Limit.addToLevel(unitsAt(level, nowMs), rate().units(cost)), nowMs);
    }

    @Override
    default boolean isCompatibleWith(Limit<?> old) {
        return old instanceof ContinuousBucket bucket && bucket.rate().unitsPerToken() == rate().unitsPerToken();
    }

    @Override
    default Level adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        if (!isCompatibleWith(old.limit())) {
            return Limit.super.adopt(old, mostUsed, nowMs);
        }
        long units = ((ContinuousBucket) old.limit()).unitsAt((Level) old.state(), nowMs);
        return new Level(Math.min(rate().units(mostUsed), units), nowMs);
    }

    private long unitsAt(Level level, long nowMs) {
        return Math.max(0, level.units() - rate().unitsIn(nowMs - level.atMs()));
    }
}
