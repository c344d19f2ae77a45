package dev.weir.decision.state;

/**
 * The earliest of the latest observed times: those of the current epoch and the one before. As the "now" for expiry, it
 * is not moved by a single clock that runs ahead.
 */
public final class RetentionClock {

    private final int epoch;
    private long earliestMs = Long.MAX_VALUE;
    private long earliestBeforeMs = Long.MAX_VALUE;

    /** @param epoch the number of observations in an epoch, at least 1 */
    public RetentionClock(int epoch) {
        this.epoch = epoch;
    }

    /**
     * Adds an observed time.
     *
     * @param number the number of the observation, one more than the previous one; an epoch begins at each multiple of
     *     its size
     * @param atMs the time
     */
    public void observe(long number, long atMs) {
        if (number % epoch == 0) {
            earliestBeforeMs = earliestMs;
            earliestMs = Long.MAX_VALUE;
        }
        earliestMs = Math.min(earliestMs, atMs);
    }

    /** Returns the earliest of the latest times; {@link Long#MAX_VALUE} if there are none. */
    public long earliestMs() {
        return Math.min(earliestMs, earliestBeforeMs);
    }
}
