package dev.weir.client.release;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A clock that estimates the broker's time from the times at which the broker appended records, and a monotonic clock.
 * A record is read after it was appended, so no estimate is ahead of the broker's time. The estimate is behind it by as
 * much as the fastest record of the last {@value #WINDOW_SECONDS} to 2 × {@value #WINDOW_SECONDS} s took to arrive. It
 * does not depend on the wall clock of the machine.
 */
final class BrokerClock {

    static final long WINDOW_SECONDS = 10;

    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(WINDOW_SECONDS);

    private final LongSupplier monotonicNanos;
    private boolean isKnown;
    private long windowNanos;
    private long offsetNanos;
    private long earlierNanos;

    /**
     * Creates a clock.
     *
     * @param monotonicNanos a monotonic clock such as {@link System#nanoTime}
     */
    BrokerClock(LongSupplier monotonicNanos) {
        this.monotonicNanos = monotonicNanos;
    }

    /**
     * Updates the estimate with a record that is read now.
     *
     * @param appendMs the time at which the broker appended the record, in ms since the epoch
     */
    void read(long appendMs) {
        long nowNanos = monotonicNanos.getAsLong();
        long leastNanos = TimeUnit.MILLISECONDS.toNanos(appendMs) - nowNanos;
        if (!isKnown || nowNanos - windowNanos >= WINDOW_NANOS) {
            boolean isFollowing = isKnown && nowNanos - windowNanos < 2 * WINDOW_NANOS;
            earlierNanos = isFollowing ? offsetNanos : leastNanos;
            offsetNanos = leastNanos;
            windowNanos = nowNanos;
            isKnown = true;
        }
        offsetNanos = Math.max(offsetNanos, leastNanos);
    }

    /** Returns the broker's time in ns since the epoch. Undefined until a record has been read. */
    long nanos() {
        return Math.max(offsetNanos, earlierNanos) + monotonicNanos.getAsLong();
    }
}
