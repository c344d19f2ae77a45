package dev.weir.client.release;

/**
 * The counts of a {@link ReleaseWorker} since it was started.
 *
 * @param handled attempts that succeeded
 * @param failed attempts that failed
 * @param retried releases whose next attempt waits in the queue
 * @param refused next attempts that Weir denied
 * @param givenUp releases that are not tried again, including records that could not be decoded
 * @param duplicates releases that were received again and skipped
 * @param inProgress releases that are being handled now, or whose next attempt has not been sent yet
 */
public record WorkerStats(
        long handled, long failed, long retried, long refused, long givenUp, long duplicates, int inProgress) {}
