package dev.weir.lease;

/**
 * Measures how long requests for leases take to be answered, and derives how long a decision waits for one. Smoothed as
 * the retransmission timeout of TCP (RFC 6298):
 *
 * <pre>
 *   first sample r     smoothed = r,                        variation = r / 2
 *   each next r        variation = 3/4 variation + 1/4 |smoothed − r|,   smoothed = 7/8 smoothed + 1/8 r
 *   lease wait         2 × (smoothed + 4 × variation), between 100 ms and 2 s; 2 s before the first sample
 * </pre>
 *
 * <p>Example: samples of 40 and 80 ms give smoothed 45 and variation 25, so a decision waits 290 ms. Threads may share
 * an instance.
 */
public final class RoundTripEstimator {

    static final long MIN_WAIT_MS = 100;
    /** The longest lease wait, unless a policy says otherwise. */
    public static final long MAX_WAIT_MS = 2_000;

    private static final int SCALE = 8;
    private long smoothed; // in eighths of a ms
    private long variation;
    private volatile long smoothedMs;
    private volatile long waitMs = MAX_WAIT_MS;

    /** Adds a measurement. */
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

    /** The smoothed round trip, 0 before the first sample. */
    public long smoothedMs() {
        return smoothedMs;
    }

    /** How long a decision waits for a lease unless its policy says otherwise. */
    public long waitMs() {
        return waitMs;
    }
}
