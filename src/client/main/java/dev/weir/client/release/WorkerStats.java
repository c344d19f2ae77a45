package dev.weir.client.release;

/**
 * The counts of a {@link ReleaseWorker} since it was started.
 *
 * @param attempts the attempts that have ended
 * @param givenUp releases that the worker does not try again, including records that could not be decoded. Weir gives up
 *     those of queues with {@code max-in-flight}
 * @param duplicates releases that were received again and skipped
 * @param inProgress releases that are being handled now, or whose next attempt or result has not been sent yet
 */
public record WorkerStats(Attempts attempts, long givenUp, long duplicates, int inProgress) {

    /**
     * The attempts that have ended.
     *
     * @param handled attempts that succeeded
     * @param failed attempts that failed
     * @param retried failed attempts after which the release was returned to its queue. In a queue with
     *     {@code max-in-flight}, it can have been the last one
     * @param refused next attempts that Weir denied
     * @param stale attempts that Weir had ended already: they were received or acknowledged too late
     */
    public record Attempts(long handled, long failed, long retried, long refused, long stale) {}
}
