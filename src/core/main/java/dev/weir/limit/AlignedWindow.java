package dev.weir.limit;

/**
 * A count for each of the windows into which time is cut, with no gap and no overlap, by the clock ({@link
 * FixedWindow}) or the calendar ({@link CalendarWindow}). What was counted is free again when the next window starts,
 * so up to twice the limit may pass around a window's edge.
 */
public sealed interface AlignedWindow extends Limit<AlignedWindow.Window> permits FixedWindow, CalendarWindow {

    /** What was counted in the window that starts at {@code startMs}. */
    record Window(long startMs, long count) {}

    /** Tokens a window. */
    long limit();

    /** When the window of {@code nowMs} started. */
    long startMs(long nowMs);

    /** When the window that starts at {@code startMs} ends and the next one starts. */
    long endMs(long startMs);

    /** Whether {@code nowMs} is in the window that starts at {@code startMs}. */
    default boolean isInWindow(long startMs, long nowMs) {
        return startMs(nowMs) == startMs;
    }

    @Override
    default long capacity() {
        return limit();
    }

    @Override
    default long maxUsed() {
        return MAX_LEVEL;
    }

    @Override
    default long windowMs(long nowMs) {
        long startMs = startMs(nowMs);
        return endMs(startMs) - startMs;
    }

    @Override
    default long windowEndsMs(long nowMs) {
        return endMs(startMs(nowMs));
    }

    @Override
    default Window initialState(long nowMs) {
        return new Window(startMs(nowMs), 0);
    }

    @Override
    default long available(Window window, long nowMs) {
        return limit() - at(window, nowMs).count();
    }

    @Override
    default long waitMs(Window window, long cost, long nowMs) {
        Window now = at(window, nowMs);
        return cost <= limit() - now.count() ? 0 : endMs(now.startMs()) - nowMs;
    }

    @Override
    default Window charge(Window window, long cost, long nowMs) {
        Window now = at(window, nowMs);
        return new Window(now.startMs(), Limit.addToLevel(now.count(), cost));
    }

    /** Ends with the window, however much is in use. */
    @Override
    default Window adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        return charge(initialState(nowMs), old.used(nowMs), nowMs);
    }

    private Window at(Window window, long nowMs) {
        return isInWindow(window.startMs(), nowMs) ? window : initialState(nowMs);
    }
}
