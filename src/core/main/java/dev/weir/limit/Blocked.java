package dev.weir.limit;

/** A limit of 0, which denies every cost above 0 and never permits it later. */
public record Blocked() implements Limit<Unlimited.NoState> {

    @Override
    public long capacity() {
        return 0;
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
        return other instanceof Blocked;
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
    public Unlimited.NoState initialState(long nowMs) {
        return Unlimited.NoState.INSTANCE;
    }

    @Override
    public long available(Unlimited.NoState state, long nowMs) {
        return 0;
    }

    @Override
    public long waitMs(Unlimited.NoState state, long cost, long nowMs) {
        return 0;
    }

    @Override
    public Unlimited.NoState charge(Unlimited.NoState state, long cost, long nowMs) {
        return state;
    }
}
