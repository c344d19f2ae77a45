package dev.weir.limit;

/** A limit that counts nothing: it permits every cost, or none above 0. */
public sealed interface UncountedLimit extends Limit<UncountedLimit.NoState> permits Unlimited, Blocked {

    /** The state of a limit that counts nothing. */
    enum NoState {
        INSTANCE
    }

    @Override
    default boolean countsUsage() {
        return false;
    }

    @Override
    default long maxUsed() {
        return Long.MAX_VALUE;
    }

    /** Returns 0, since nothing is counted. */
    @Override
    default long maxUsedByDenied() {
        return 0;
    }

    @Override
    default boolean hasSamePeriodAs(Limit<?> other) {
        return equals(other);
    }

    @Override
    default long windowMs(long nowMs) {
        return 0;
    }

    @Override
    default boolean countDenied() {
        return false;
    }

    @Override
    default NoState initialState(long nowMs) {
        return NoState.INSTANCE;
    }

    @Override
    default long available(NoState state, long nowMs) {
        return capacity();
    }

    /** Returns 0: a cost is permitted now or never. */
    @Override
    default long waitMs(NoState state, long cost, long nowMs) {
        return 0;
    }

    @Override
    default NoState charge(NoState state, long cost, long nowMs) {
        return state;
    }

    @Override
    default NoState settled(NoState state, Charge charge, long actualCost, long nowMs) {
        return state;
    }
}
