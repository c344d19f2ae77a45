package dev.weir.shape;

import java.util.Map;

/**
 * A request whose turn has come.
 *
 * @param requestId the request's
 * @param client whose request it is
 * @param tier the client's plan, null if it has none
 * @param queue which queue let it go
 * @param sequence counts the queue's releases, from 1, without a gap
 * @param enqueuedAtMs when it began to wait, ms since the epoch
 * @param releaseAtNanos when it may go on, ns since the epoch
 * @param cost in tokens
 * @param attributes the request's
 * @param payload the request's, null if it has none
 */
@SuppressWarnings("ArrayRecordComponent") // the payload is carried, never compared
public record Release(
        String requestId,
        String client,
        String tier,
        String queue,
        long sequence,
        long enqueuedAtMs,
        long releaseAtNanos,
        long cost,
        Map<String, String> attributes,
        byte[] payload) {

    private static final long NANOS_PER_MS = 1_000_000;

    /** How long it waited, in whole milliseconds, rounded down; 0 if the clocks of two machines disagree about it. */
    public long waitMs() {
        return Math.max(0, releaseAtNanos / NANOS_PER_MS - enqueuedAtMs);
    }
}
