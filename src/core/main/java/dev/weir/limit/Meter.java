package dev.weir.limit;

/**
 * A bucket with a hole: what is taken raises the level, the level sinks at the rate, and a cost fits if the level stays
 * within the burst. Seen from above it is a {@link TokenBucket} (tokens = burst − level), seen from below a {@link
 * LeakyBucket}; the arithmetic is one.
 *
 * <pre>
 *   burst 10, 5 a second          t=500: level 0,  10 fit   → level 10
 *                                 t=700: level 9,  2 do not → retry at t=900, when the level is 8
 * </pre>
 */
public sealed interface Meter extends Limit<Meter.Level> permits TokenBucket, LeakyBucket {

    /**
     * How full the bucket was at a moment.
     *
     * @param units the level, in the {@link Rate}'s units: 0 to {@link Limit#MAX_LEVEL}
     * @param atMs when
     */
    record Level(long units, long atMs) {}

    Rate rate();

    /** How much fits in all. */
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
        return old instanceof Meter meter && meter.rate().unitsPerToken() == rate().unitsPerToken();
    }

    @Override
    default Level adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        if (!isCompatibleWith(old.limit())) {
            return Limit.super.adopt(old, mostUsed, nowMs);
        }
        long units = ((Meter) old.limit()).unitsAt((Level) old.state(), nowMs);
        return new Level(Math.min(rate().units(mostUsed), units), nowMs);
    }

    private long unitsAt(Level level, long nowMs) {
        return Math.max(0, level.units() - rate().unitsIn(nowMs - level.atMs()));
    }
}
