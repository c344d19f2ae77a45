package dev.weir.limit;

/** A limit that permits everything and counts nothing. */
public record Unlimited() implements Limit<Unlimited.NoState> {

    /** The state of a limit that counts nothing. */
    public enum NoState {
        INSTANCE
    }

    @Override
    public long capacity() {
        return Long.MAX_VALUE;
    }

    @Override
    public boolean countsUsage() {
        return false;
    }

    @Override
    public long maxUsed() {
        return Long.MAX_VALUE;
    }

    /** Returns 0, since nothing is counted. */
    @Override
    public long maxUsedByDenied() {
        return 0;
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof Unlimited;
    }

    @Override
    public long windowMs(long nowMs) {
        return 0;
    }

    @Override
    public boolean countDenied() {
        return false;
    }

    @Override
    public NoState initialState(long nowMs) {
        return NoState.INSTANCE;
    }

    @Override
    public long available(NoState state, long nowMs) {
        return Long.MAX_VALUE;
    }

    @Override
    public long waitMs(NoState state, long cost, long nowMs) {
        return 0;
    }

    @Override
    public NoState charge(NoState state, long cost, long nowMs) {
        return state;
    }
}
