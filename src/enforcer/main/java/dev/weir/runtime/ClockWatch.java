package dev.weir.runtime;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Detects when the wall clock is set back.
 *
 * <p>Kafka's clients measure timeouts with timers that follow the wall clock but never run backwards. If the clock is
 * set back by an hour, a consumer that polls waits for an hour and sends no heartbeats in that time. Polls that start
 * afterwards are not affected, so it is sufficient to wake up waiting consumers. The heartbeat timer, however, exists
 * as long as the consumer.
 */
final class ClockWatch {

    private final LongSupplier wallMs;
    private long latestMs = Long.MIN_VALUE;

    /** @param wallMs the wall clock in milliseconds */
    ClockWatch(LongSupplier wallMs) {
        this.wallMs = wallMs;
    }

    /** Returns how far the wall clock is behind the latest time that this method has read; 0 if it is not behind. */
    Duration behind() {
        long nowMs = wallMs.getAsLong();
        latestMs = Math.max(latestMs, nowMs);
        return Duration.ofMillis(latestMs - nowMs);
    }
}
