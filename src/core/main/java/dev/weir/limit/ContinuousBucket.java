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
     * @param open the charges whose cost can be corrected
     */
    record Level(long units, long atMs, OpenCharges open) {

        /** Creates a level without charges that can be corrected. */
        public Level(long units, long atMs) {
            this(units, atMs, OpenCharges.NONE);
        }
    }

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
        long drained = drained(level, nowMs);
        long change = rate().units(cost);
        return new Level(
                Limit.addToLevel(Math.max(0, drained), change),
                nowMs,
                level.open().charged(drained, change));
    }

    @Override
    default Level chargeReserved(Level level, Charge charge) {
        Level next = charge(level, charge.cost(), charge.atMs());
        return new Level(next.units(), next.atMs(), next.open().with(charge));
    }

    @Override
    default Level settled(Level level, Charge charge, long actualCost, long nowMs) {
        if (!level.open().contains(charge)) {
            return level;
        }
        long drained = drained(level, nowMs);
        long change = rate().units(actualCost) - rate().units(charge.cost());
        OpenCharges.Correction correction =
                level.open().then(LevelResponse.drained(drained)).corrected(charge, change);
        return new Level(Limit.addToLevel(Math.max(0, drained), correction.change()), nowMs, correction.open());
    }

    @Override
    default Level refunded(Level level, Charge refund, long nowMs) {
        if (level.open().isEmpty()) {
            return level;
        }
        long drained = drained(level, nowMs);
        OpenCharges.Correction correction =
                level.open().then(LevelResponse.drained(drained)).refunded(refund, rate().units(refund.cost()));
        return new Level(Limit.addToLevel(Math.max(0, drained), correction.change()), nowMs, correction.open());
    }

    @Override
    default Level forgotten(Level level, Charge charge) {
        return level.open().contains(charge)
                ? new Level(level.units(), level.atMs(), level.open().without(charge))
                : level;
    }

    /** Returns the usual time, and one window more while charges can be corrected: a larger cost can then be owed. */
    @Override
    default long expiresAtMs(Level level, long nowMs) {
        long emptyMs = Limit.super.expiresAtMs(level, nowMs);
        return level.open().isEmpty() ? emptyMs : emptyMs + windowMs(nowMs);
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
        Level level = (Level) old.state();
        long drained = ((ContinuousBucket) old.limit()).drained(level, nowMs);
        long most = rate().units(mostUsed);
        return new Level(
                Math.min(most, Math.max(0, drained)), nowMs, level.open().loweredTo(most, drained));
    }

    private long unitsAt(Level level, long nowMs) {
        return Math.max(0, drained(level, nowMs));
    }

    /** Returns the level at {@code nowMs}; negative by what could not flow out because the bucket was empty. */
    private long drained(Level level, long nowMs) {
        return level.units() - rate().unitsIn(nowMs - level.atMs());
    }
}
