package dev.weir.client.throttle;

/**
 * The counts of a {@link ThrottledConsumer} since it was started.
 *
 * @param delivered records that were returned
 * @param skipped records that were skipped, since they can never be allowed
 * @param denied decisions that denied a record, which waited for them
 * @param undecided requests that ended without a decision, and were sent again
 * @param held records that were received and wait to be returned
 */
public record ThrottledStats(long delivered, long skipped, long denied, long undecided, int held) {}
