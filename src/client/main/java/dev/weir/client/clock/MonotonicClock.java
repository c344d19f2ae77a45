package dev.weir.client.clock;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.function.LongSupplier;

/**
 * A clock that advances as a time in nanoseconds does, such as {@link System#nanoTime}, and is not affected when the
 * wall clock is set. Its instants begin at the epoch when it is created, so only their differences have a meaning.
 */
public final class MonotonicClock extends Clock {

    private final LongSupplier nanoTime;
    private final long startNanos;

    /**
     * Creates a clock.
     *
     * @param nanoTime the time in nanoseconds
     */
    public MonotonicClock(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        startNanos = nanoTime.getAsLong();
    }

    @Override
    public Instant instant() {
        return Instant.EPOCH.plusNanos(nanoTime.getAsLong() - startNanos);
    }

    @Override
    public ZoneId getZone() {
        return ZoneOffset.UTC;
    }

    /** Returns this clock, since its instants belong to no zone. */
    @Override
    public Clock withZone(ZoneId zone) {
        return this;
    }
}
