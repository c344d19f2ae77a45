package dev.weir.client;

/**
 * What a {@link ReleaseWorker} has done since it was started.
 *
 * @param handled attempts that went well
 * @param failed attempts that threw
 * @param retried releases that wait in the queue again
 * @param refused next attempts that Weir refused
 * @param givenUp releases that are not tried any more, those of no release among them
 * @param duplicates releases that came again and were left alone
 * @param inProgress releases that were handed out, or wait for their next attempt to be asked for
 */
public record WorkerStats(
        long handled, long failed, long retried, long refused, long givenUp, long duplicates, int inProgress) {}
