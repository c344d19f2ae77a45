package dev.weir.decision;

/**
 * The earliest time among the latest things seen: those of the epoch that began last and of the one before. As "now"
 * for what is to be forgotten, it is not moved by one clock that runs ahead.
 */
public final class RecentTimes {

    private final int epoch;
    private long earliestMs = Long.MAX_VALUE;
    private long earliestBeforeMs = Long.MAX_VALUE;

    /** @param epoch how many things are in one, at least 1 */
    public RecentTimes(int epoch) {
        this.epoch = epoch;
    }

    /**
     * Takes note of a time.
     *
     * @param number one more than of the time before; an epoch begins at each multiple of its size
     */
    public void observe(long number, long atMs) {
        if (number % epoch == 0) {
            earliestBeforeMs = earliestMs;
            earliestMs = Long.MAX_VALUE;
        }
        earliestMs = Math.min(earliestMs, atMs);
    }

    /** {@link Long#MAX_VALUE} if there was none. */
    public long earliestMs() {
        return Math.min(earliestMs, earliestBeforeMs);
    }
}
