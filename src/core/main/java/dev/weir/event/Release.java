package dev.weir.event;

import java.util.Map;

/**
 * A request whose turn has come.
 *
 * @param requestId the request's
 * @param client whose request it is
 * @param tier the client's plan, null if it has none
 * @param queue which queue let it go
 * @param key the values of the queue's key fields, by name; empty if it has none
 * @param sequence counts the releases of the queue, or of this key, from 1, without a gap; that of a key starts again
 *     at 1 once its bucket has been empty for long enough that its rate no longer matters
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
        Map<String, String> key,
        long sequence,
        long enqueuedAtMs,
        long releaseAtNanos,
        long cost,
        Map<String, String> attributes,
        byte[] payload) {

    /** Of a queue without key fields. */
    public Release(
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
        this(
                requestId,
                client,
                tier,
                queue,
                Map.of(),
                sequence,
                enqueuedAtMs,
                releaseAtNanos,
                cost,
                attributes,
                payload);
    }

    private static final long NANOS_PER_MS = 1_000_000;

    /** How long it waited, in whole milliseconds, rounded down; 0 if the clocks of two machines disagree about it. */
    public long waitMs() {
        return Math.max(0, releaseAtNanos / NANOS_PER_MS - enqueuedAtMs);
    }
}
