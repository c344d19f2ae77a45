package dev.weir.lease.holder;

import dev.weir.lease.LeaseTerms;

/**
 * An estimator of the round trip of lease requests, which determines how long a decision waits for a lease. It smooths
 * samples like the retransmission timeout of TCP (RFC 6298):
 *
 * <pre>
 *   first sample r     smoothed = r,                        variation = r / 2
 *   each next r        variation = 3/4 variation + 1/4 |smoothed − r|,   smoothed = 7/8 smoothed + 1/8 r
 *   lease wait         2 × (smoothed + 4 × variation), between 100 ms and 2 s; 2 s before the first sample
 * </pre>
 *
 * <p>Example: samples of 40 and 80 ms give smoothed 45 and variation 25, so a decision waits 290 ms. Thread-safe.
 */
public final class RoundTripEstimator {

    static final long MIN_WAIT_MS = 100;
    /** The longest default lease wait, in milliseconds. A policy can set a longer one. */
    public static final long MAX_WAIT_MS = 2_000;

    private static final int SCALE = 8;
    private long smoothed; // in eighths of a ms
    private long variation;
    private volatile long smoothedMs;
    private volatile long waitMs = MAX_WAIT_MS;

    /** Adds a measured round trip. */
    public synchronized void sample(long ms) {
        long sample = Math.max(1, Math.min(ms, LeaseTerms.MAX_ROUND_TRIP_MS)) * SCALE;
        if (smoothed == 0) {
            smoothed = sample;
            variation = sample / 2;
        } else {
            variation += (Math.abs(smoothed - sample) - variation) / 4;
            smoothed += (sample - smoothed) / 8;
        }
        smoothedMs = Math.max(1, smoothed / SCALE);
        waitMs = Math.max(MIN_WAIT_MS, Math.min(MAX_WAIT_MS, 2 * (smoothed + 4 * variation) / SCALE));
    }

    /** Returns the smoothed round trip in milliseconds, 0 before the first sample. */
    public long smoothedMs() {
        return smoothedMs;
    }

    /** Returns how long a decision waits for a lease by default, in milliseconds. */
    public long waitMs() {
        return waitMs;
    }
}
