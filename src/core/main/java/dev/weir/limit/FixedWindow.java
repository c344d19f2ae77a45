package dev.weir.limit;

/**
 * A limit on the tokens used in each window of {@code perMs} milliseconds. Windows are aligned to the epoch (UTC).
 *
 * @param limit tokens per window; 0 denies every cost above 0
 * @param perMs the length of a window, in milliseconds
 * @param countDenied whether denied requests are charged too
 */
public record FixedWindow(long limit, long perMs, boolean countDenied) implements AlignedWindow {

    /** @throws IllegalArgumentException if {@code limit} is negative, {@code perMs} is not positive, or one is too large */
    public FixedWindow {
        Limit.requireTokens("limit", limit);
        Limit.requirePositive("per", perMs);
    }

    @Override
    public long startMs(long nowMs) {
        return nowMs - Math.floorMod(nowMs, perMs);
    }

    @Override
    public long endMs(long startMs) {
        return startMs + perMs;
    }

    @Override
    public boolean isInWindow(long startMs, long nowMs) {
        return nowMs >= startMs && nowMs - startMs < perMs;
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof FixedWindow window && window.perMs == perMs;
    }

    @Override
    public long windowMs(long nowMs) {
        return perMs;
    }

    @Override
    public boolean isOverridable() {
        return true;
    }

    @Override
    public FixedWindow withTokens(long tokens, long windowMs) {
        return windowMs == perMs ? new FixedWindow(tokens, perMs, countDenied) : this;
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof FixedWindow window && window.perMs == perMs;
    }
}
