package dev.weir.limit;

/** No limit: everything passes, nothing is counted. */
public record Unlimited() implements Limit<Unlimited.Nothing> {

    /** The state of a limit that counts nothing. */
    public enum Nothing {
        NOTHING
    }

    @Override
    public long capacity() {
        return Long.MAX_VALUE;
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
    public Nothing fresh(long nowMs) {
        return Nothing.NOTHING;
    }

    @Override
    public long available(Nothing state, long nowMs) {
        return Long.MAX_VALUE;
    }

    @Override
    public long waitMs(Nothing state, long cost, long nowMs) {
        return 0;
    }

    @Override
    public Nothing charge(Nothing state, long cost, long nowMs) {
        return state;
    }
}
