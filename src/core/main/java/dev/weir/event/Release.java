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
 * @param attempt what its worker must acknowledge; null if the queue does not expect an acknowledgement
 * @param pace the time that the release takes of the queue's rates
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
        byte[] payload,
        Attempt attempt,
        Pace pace) {

    private static final long NANOS_PER_MS = 1_000_000;

    /**
     * One attempt to process a request.
     *
     * @param number counts the releases of the request, from 1
     * @param receipt names the attempt in its acknowledgement, a {@link Receipt}
     * @param ackTimeoutMs how long after {@code releaseAt}, and after each EXTEND, the request is released again unless
     *     the attempt is acknowledged, in milliseconds
     */
    public record Attempt(int number, String receipt, long ackTimeoutMs) {}

    /**
     * The time that a release takes of the queue's rates: its cost divided by the rate, in nanoseconds, rounded up. A
     * worker that is late waits as long before the next release.
     *
     * @param nanos by the rate of the queue, or of the key; 0 if workers acknowledge its releases
     * @param totalNanos by the total of all keys; 0 if there is none
     */
    public record Pace(long nanos, long totalNanos) {

        public static final Pace NONE = new Pace(0, 0);
    }

    /**
     * Returns a builder of the first release of a queue without key fields: of one token, queued and released at 0,
     * without tier, attributes and payload.
     *
     * @param requestId identifies the request
     * @param client the client of the request
     * @param queue the id of the queue
     */
    public static Builder builder(String requestId, String client, String queue) {
        return new Builder(requestId, client, queue);
    }

    /** Returns a builder that starts with the fields of this release. */
    public Builder toBuilder() {
        return new Builder(requestId, client, queue)
                .tier(tier)
                .key(key)
                .sequence(sequence)
                .enqueuedAtMs(enqueuedAtMs)
                .releaseAtNanos(releaseAtNanos)
                .cost(cost)
                .attributes(attributes)
                .payload(payload)
                .attempt(attempt)
                .pace(pace);
    }

    /** Returns whether the request was released before. */
    public boolean isRetry() {
        return attempt != null && attempt.number > 1;
    }

    /**
     * Returns how long the request waited, in whole milliseconds rounded down; 0 if it would be negative because two
     * clocks disagree.
     */
    public long waitMs() {
        return Math.max(0, releaseAtNanos / NANOS_PER_MS - enqueuedAtMs);
    }

    /** Builds a {@link Release}. It copies and checks nothing. Not thread-safe. */
    public static final class Builder {

        private final String requestId;
        private final String client;
        private final String queue;
        private String tier;
        private Map<String, String> key = Map.of();
        private long sequence = 1;
        private long enqueuedAtMs;
        private long releaseAtNanos;
        private long cost = 1;
        private Map<String, String> attributes = Map.of();
        private byte[] payload;
        private Attempt attempt;
        private Pace pace = Pace.NONE;

        private Builder(String requestId, String client, String queue) {
            this.requestId = requestId;
            this.client = client;
            this.queue = queue;
        }

        /** Sets the client's tier; null for none, the default. */
        public Builder tier(String value) {
            tier = value;
            return this;
        }

        /** Sets the values of the queue's key fields, by name. By default there are none. */
        public Builder key(Map<String, String> value) {
            key = value;
            return this;
        }

        /** Sets the number of the release among those of the queue, or of the key. The default is 1. */
        public Builder sequence(long value) {
            sequence = value;
            return this;
        }

        /** Sets when the request was queued, in milliseconds since the epoch. The default is 0. */
        public Builder enqueuedAtMs(long value) {
            enqueuedAtMs = value;
            return this;
        }

        /** Sets when the request can be processed, in nanoseconds since the epoch. The default is 0. */
        public Builder releaseAtNanos(long value) {
            releaseAtNanos = value;
            return this;
        }

        /** Sets the tokens. The default is 1. */
        public Builder cost(long value) {
            cost = value;
            return this;
        }

        /** Sets the attributes of the request. By default there are none. */
        public Builder attributes(Map<String, String> value) {
            attributes = value;
            return this;
        }

        /** Sets the payload of the request; null for none, the default. */
        public Builder payload(byte[] value) {
            payload = value;
            return this;
        }

        /** Sets what the worker must acknowledge; null for nothing, the default. */
        public Builder attempt(Attempt value) {
            attempt = value;
            return this;
        }

        /** Sets the time that the release takes of the queue's rates. The default is none. */
        public Builder pace(Pace value) {
            pace = value;
            return this;
        }

        /** Returns the release. */
        public Release build() {
            return new Release(
                    requestId,
                    client,
                    tier,
                    queue,
                    key,
                    sequence,
                    enqueuedAtMs,
                    releaseAtNanos,
                    cost,
                    attributes,
                    payload,
                    attempt,
                    pace);
        }
    }
}
