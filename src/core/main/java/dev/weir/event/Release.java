package dev.weir.event;

import java.util.Map;

/**
 * The instruction to process a queued request.
 *
 * @param requestId identifies the request
 * @param client the client of the request
 * @param tier the client's tier, null if it has none
 * @param queue the id of the queue
 * @param key the values of the queue's key fields, by name; empty if it has none
 * @param sequence the number of the release among those of the queue, or of the key, from 1 without gaps. The numbers of
 *     a key start again at 1 when its bucket has been empty for so long that earlier releases no longer affect its rate
 * @param enqueuedAtMs when the request was queued, in milliseconds since the epoch
 * @param releaseAtNanos when the request can be processed, in nanoseconds since the epoch
 * @param cost tokens
 * @param attributes the attributes of the request
 * @param payload the payload of the request, null if it has none
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

    /** Creates a release of a queue without key fields. */
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

    /**
     * Returns how long the request waited, in whole milliseconds rounded down; 0 if it would be negative because two
     * clocks disagree.
     */
    public long waitMs() {
        return Math.max(0, releaseAtNanos / NANOS_PER_MS - enqueuedAtMs);
    }
}
