package dev.weir.lease.holder;

import java.util.function.LongSupplier;

/**
 * A detector of steps of the wall clock relative to the monotonic clock. A forward step means that the wall clock was
 * set forward, or that the machine was suspended, during which a monotonic clock can stand still. Leases from before it
 * must not be used, since their age is unknown. A backward step is harmless for leases, because their ages are measured
 * with the monotonic clock, but not for Kafka's clients, which wait by the wall clock. Thread-safe.
 */
public final class ClockStepDetector {

    /** Smaller differences are ignored, since the two clocks are not read at exactly the same time. */
    static final long MIN_STEP_MS = 100;

    private static final long NANOS_PER_MS = 1_000_000;
    private static final long UNKNOWN = Long.MIN_VALUE;

    private volatile long offsetMs = UNKNOWN;
    private volatile long count;
    private volatile long backwardCount;

    /**
     * Compares the clocks and returns the number of forward steps so far.
     *
     * @param monotonicNanos the monotonic clock, in nanoseconds
     * @param wallMs the wall clock, in milliseconds
     */
    public long observe(LongSupplier monotonicNanos, LongSupplier wallMs) {
        long beforeMs = monotonicNanos.getAsLong() / NANOS_PER_MS;
        long nowOffsetMs = wallMs.getAsLong() - beforeMs;
        if (Math.abs(nowOffsetMs - offsetMs) < MIN_STEP_MS) {
            return count;
        }
        // if reading the clocks took too long, the difference is not exact
        long afterMs = monotonicNanos.getAsLong() / NANOS_PER_MS;
        return afterMs - beforeMs < MIN_STEP_MS / 2 ? recordOffset(nowOffsetMs) : count;
    }

    /** Returns how many backward steps {@link #observe} has found so far. */
    public long backwardCount() {
        return backwardCount;
    }

    private synchronized long recordOffset(long nowOffsetMs) {
        if (offsetMs != UNKNOWN && nowOffsetMs - offsetMs >= MIN_STEP_MS) {
            count++;
        } else if (offsetMs != UNKNOWN && offsetMs - nowOffsetMs >= MIN_STEP_MS) {
            backwardCount++;
        }
        offsetMs = nowOffsetMs;
        return count;
    }
}
