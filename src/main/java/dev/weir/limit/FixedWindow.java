package dev.weir.limit;

/**
 * Fixed window: at most {@code limit} in each window of {@code perMs}, windows aligned to the epoch (UTC). Up to twice
 * the limit may pass around a window's edge.
 *
 * @param limit tokens a window
 * @param perMs the window
 */
public record FixedWindow(long limit, long perMs, boolean countDenied) implements Limit<FixedWindow.Window> {

    /** @throws IllegalArgumentException if a number is not positive */
    public FixedWindow {
        Limit.requirePositive("limit", limit);
        Limit.requirePositive("per", perMs);
    }

    /** What was counted in the window that starts at {@code startMs}. */
    public record Window(long startMs, long count) {}

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public long windowMs(long nowMs) {
        return perMs;
    }

    @Override
    public Window fresh(long nowMs) {
        return new Window(startMs(nowMs), 0);
    }

    @Override
    public long available(Window window, long nowMs) {
        return limit - countAt(window, nowMs);
    }

    @Override
    public long waitMs(Window window, long cost, long nowMs) {
        return countAt(window, nowMs) <= limit - cost ? 0 : startMs(nowMs) + perMs - nowMs;
    }

    @Override
    public Window charge(Window window, long cost, long nowMs) {
        return new Window(startMs(nowMs), Limit.addToLevel(countAt(window, nowMs), cost));
    }

    @Override
    public boolean continues(Limit<?> old) {
        return old instanceof FixedWindow window && window.perMs == perMs;
    }

    private long countAt(Window window, long nowMs) {
        return window.startMs() == startMs(nowMs) ? window.count() : 0;
    }

    private long startMs(long nowMs) {
        return nowMs - Math.floorMod(nowMs, perMs);
    }
}
