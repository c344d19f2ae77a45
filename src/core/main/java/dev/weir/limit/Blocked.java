package dev.weir.limit;

/** A limit of 0: every cost above 0 is refused for good. */
public record Blocked() implements Limit<Unlimited.Nothing> {

    @Override
    public long capacity() {
        return 0;
    }

    @Override
    public long maxUsed() {
        return Long.MAX_VALUE;
    }

    /** Nothing is counted. */
    @Override
    public long maxUsedByDenied() {
        return 0;
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
    public Unlimited.Nothing fresh(long nowMs) {
        return Unlimited.Nothing.NOTHING;
    }

    @Override
    public long available(Unlimited.Nothing state, long nowMs) {
        return 0;
    }

    @Override
    public long waitMs(Unlimited.Nothing state, long cost, long nowMs) {
        return 0;
    }

    @Override
    public Unlimited.Nothing charge(Unlimited.Nothing state, long cost, long nowMs) {
        return state;
    }
}
