package dev.weir.limit;

/**
 * Fixed window: at most {@code limit} in each window of {@code perMs}, windows aligned to the epoch (UTC).
 *
 * @param limit tokens a window
 * @param perMs the window
 */
public record FixedWindow(long limit, long perMs, boolean countDenied) implements AlignedWindow {

    /** @throws IllegalArgumentException if a number is not positive */
    public FixedWindow {
        Limit.requireCapacity("limit", limit);
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
    public long windowMs(long nowMs) {
        return perMs;
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof FixedWindow window && window.perMs == perMs;
    }
}
