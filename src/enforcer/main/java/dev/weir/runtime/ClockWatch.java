package dev.weir.runtime;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Notices when the wall clock steps back.
 *
 * <p>Kafka's clients measure timeouts by the wall clock and never let it go back: after a step back by an hour a
 * consumer that waits for records waits for an hour, and sends no heartbeat meanwhile. What was begun after the step is
 * not affected, so that waiting consumers need only be woken; but heartbeats go by a timer that lives as long as the
 * consumer.
 */
final class ClockWatch {

    private final LongSupplier wallMs;
    private long latestMs = Long.MIN_VALUE;

    /** @param wallMs the wall clock, in ms */
    ClockWatch(LongSupplier wallMs) {
        this.wallMs = wallMs;
    }

    /** By how much the wall clock is behind the latest time that it has shown to this method; 0 if it is not. */
    Duration behind() {
        long nowMs = wallMs.getAsLong();
        latestMs = Math.max(latestMs, nowMs);
        return Duration.ofMillis(latestMs - nowMs);
    }
}
