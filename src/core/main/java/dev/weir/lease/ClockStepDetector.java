package dev.weir.lease;

import java.util.function.LongSupplier;

/**
 * Detects that the wall clock has advanced more than the monotonic clock: it was stepped forward, or the machine was
 * suspended, during which a monotonic clock may stand still. Leases from before that must not be used any more, because
 * nobody knows how old they are. A step back is harmless: the monotonic clock still runs. Threads may share an
 * instance.
 */
public final class ClockStepDetector {

    /** Smaller differences are not counted: both clocks are not read at exactly the same moment. */
    static final long MIN_STEP_MS = 100;

    private static final long NANOS_PER_MS = 1_000_000;
    private static final long UNKNOWN = Long.MIN_VALUE;

    private volatile long offsetMs = UNKNOWN;
    private volatile long count;

    /**
     * Compares a monotonic clock, in ns, with the wall clock, in ms. Returns how many steps forward there were so far.
     */
    public long observe(LongSupplier monotonicNanos, LongSupplier wallMs) {
        long beforeMs = monotonicNanos.getAsLong() / NANOS_PER_MS;
        long nowMs = wallMs.getAsLong();
        return observe(beforeMs, nowMs, monotonicNanos.getAsLong() / NANOS_PER_MS);
    }

    /** @param afterMs read after the wall clock; if that took long, nothing is concluded */
    private long observe(long beforeMs, long wallMs, long afterMs) {
        boolean isExact = afterMs - beforeMs < MIN_STEP_MS / 2;
        return isExact && Math.abs(wallMs - beforeMs - offsetMs) >= MIN_STEP_MS
                ? recordOffset(wallMs - beforeMs)
                : count;
    }

    private synchronized long recordOffset(long nowOffsetMs) {
        if (offsetMs != UNKNOWN && nowOffsetMs - offsetMs >= MIN_STEP_MS) {
            count++;
        }
        offsetMs = nowOffsetMs;
        return count;
    }
}
