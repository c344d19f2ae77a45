package dev.weir.limit;

import java.util.OptionalLong;

/**
 * A limit that counts the tokens of each window, with windows that follow one another without gap or overlap. Windows
 * are aligned to the epoch ({@link FixedWindow}) or to a calendar ({@link CalendarWindow}). The count returns to 0 when
 * the next window starts, so up to twice the limit can pass within one window's length around a boundary.
 */
public sealed interface AlignedWindow extends Limit<AlignedWindow.Window> permits FixedWindow, CalendarWindow {

    /**
     * The count of one window.
     *
     * @param startMs when the window starts, in milliseconds since the epoch
     * @param count tokens used in the window, 0 to {@link Limit#MAX_LEVEL}
     */
    record Window(long startMs, long count) {}

    /** Returns the tokens per window. */
    long limit();

    /** Returns the start of the window that contains {@code nowMs}. */
    long startMs(long nowMs);

    /**
     * Returns the end (exclusive) of the window that starts at {@code startMs}, which is the start of the next window.
     */
    long endMs(long startMs);

    /** Returns whether {@code nowMs} lies in the window that starts at {@code startMs}. */
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
    default OptionalLong windowEndMs(long nowMs) {
        return OptionalLong.of(endMs(startMs(nowMs)));
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

    /** Corrects the count of the window of the charge, and nothing if that has ended. */
    @Override
    default Window settled(Window window, Charge charge, long actualCost, long nowMs) {
        boolean isCounted = isInWindow(window.startMs(), charge.atMs()) && isInWindow(window.startMs(), nowMs);
        long change = actualCost - charge.cost();
        return isCounted && change != 0
                ? new Window(window.startMs(), Limit.addToLevel(window.count(), change))
                : window;
    }

    /** Keeps all usage, even above {@code mostUsed}: the wait ends with the window, whatever is in use. */
    @Override
    default Window adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        return charge(initialState(nowMs), old.used(nowMs), nowMs);
    }

    private Window at(Window window, long nowMs) {
        return isInWindow(window.startMs(), nowMs) ? window : initialState(nowMs);
    }
}
