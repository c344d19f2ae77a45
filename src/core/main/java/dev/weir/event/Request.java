package dev.weir.event;

import java.util.Map;

/**
 * A request for quota.
 *
 * @param requestId identifies the request in its decision, and as idempotency key
 * @param client the client whose quota is used
 * @param kind what to do with the cost
 * @param tier the client's tier, null if it has none
 * @param cost tokens, 0 or more; signed for a {@link RequestKind#SETTLE} that does not name a reservation
 * @param sizeBytes the size of the request itself, in bytes; null if unknown
 * @param attributes further fields that policies match on, besides tier and client
 * @param deadlineMs the time after which the request is useless, in milliseconds since the epoch; null if there is none
 * @param notBeforeMs the time before which a queue does not release a {@link RequestKind#CONSUME}, in milliseconds since
 *     the epoch, up to {@value #MAX_POSTPONED_MS} ms after the timestamp; null to release it at its turn
 * @param payload copied unchanged to the release; null if there is none
 * @param queue the queue from which a {@link RequestKind#CANCEL} withdraws the request; null for a CANCEL of a
 *     reservation and for other kinds
 * @param limitOverride the limit of this request, where policies allow one; null if it has none
 * @param policyId the only policy whose limits a {@link RequestKind#RESET} frees; null for all policies that apply, and
 *     for other kinds
 * @param reserveMs how long the reservation lasts that a {@link RequestKind#CONSUME} creates, 1 to
 *     {@value #MAX_RESERVE_MS} ms; null if it creates none, unless a policy has a concurrency limit
 * @param settles the requestId of the reservation that a {@link RequestKind#SETTLE} ends; null if it ends none, and for
 *     other kinds
 * @param acknowledgement what a {@link RequestKind#COMPLETE} or {@link RequestKind#EXTEND} reports; null for other
 *     kinds
 * @param timestampMs the timestamp of the request, in milliseconds since the epoch
 * @param source the position at which the request was read
 */
@SuppressWarnings("ArrayRecordComponent") // the payload is carried, never compared
public record Request(
        String requestId,
        String client,
        RequestKind kind,
        String tier,
        long cost,
        Long sizeBytes,
        Map<String, String> attributes,
        Long deadlineMs,
        Long notBeforeMs,
        byte[] payload,
        String queue,
        LimitOverride limitOverride,
        String policyId,
        Long reserveMs,
        String settles,
        Acknowledgement acknowledgement,
        long timestampMs,
        Source source) {

    /** The longest reservation: 30 days. */
    public static final long MAX_RESERVE_MS = 2_592_000_000L;

    /** How far {@code notBeforeMs} can be ahead: 30 days. */
    public static final long MAX_POSTPONED_MS = 2_592_000_000L;

    /**
     * Returns a builder of a request that consumes one token and has no optional field, timestamp 0 and {@link
     * Source#NONE}.
     *
     * @param requestId identifies the request in its decision
     * @param client the client whose quota is used
     */
    public static Builder builder(String requestId, String client) {
        return new Builder(requestId, client);
    }

    /**
     * The position of a request.
     *
     * @param partition the partition of the request topic
     * @param offset the offset in that partition
     */
    public record Source(int partition, long offset) {

        /** The source of a request that is on no topic. */
        public static final Source NONE = new Source(-1, -1);
    }

    /** Returns a builder that starts with the fields of this request. */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Returns this request with another kind. */
    public Request withKind(RequestKind other) {
        return toBuilder().kind(other).build();
    }

    /** Returns this request without its payload. */
    public Request withoutPayload() {
        return toBuilder().payload(null).build();
    }

    /** Returns this request with another limit of its own; null for none. */
    public Request withLimitOverride(LimitOverride other) {
        return toBuilder().limitOverride(other).build();
    }

    /** Returns this request for one policy; null for all that apply. */
    public Request withPolicyId(String other) {
        return toBuilder().policyId(other).build();
    }

    /** Returns whether the request must not start yet at the time of its timestamp. */
    public boolean isPostponed() {
        return notBeforeMs != null && notBeforeMs > timestampMs;
    }

    /**
     * Returns whether the request is about a reservation: it ends or prolongs the one that it names by its client and
     * {@link #reservationId}.
     */
    public boolean isForReservation() {
        return switch (kind) {
            case RELEASE, RENEW -> true;
            case SETTLE -> settles != null;
            case CANCEL -> queue == null;
            case CONSUME, PEEK, RESET, COMPLETE, EXTEND -> false;
        };
    }

    /** Returns the requestId of the reservation that the request creates, ends or prolongs. */
    public String reservationId() {
        return settles == null ? requestId : settles;
    }

    /**
     * Returns the value of a field for policies: {@code client}, {@code tier}, or an attribute.
     *
     * @return null if the request does not have the field
     */
    public String field(String name) {
        return switch (name) {
            case "client" -> client;
            case "tier" -> tier;
            default -> attributes.get(name);
        };
    }

    /** Builds a {@link Request}. It copies and checks nothing. Not thread-safe. */
    public static final class Builder {

        private String requestId;
        private final String client;
        private RequestKind kind = RequestKind.CONSUME;
        private String tier;
        private long cost = 1;
        private Long sizeBytes;
        private Map<String, String> attributes = Map.of();
        private Long deadlineMs;
        private Long notBeforeMs;
        private byte[] payload;
        private String queue;
        private LimitOverride limitOverride;
        private String policyId;
        private Long reserveMs;
        private String settles;
        private Acknowledgement acknowledgement;
        private long timestampMs;
        private Source source = Source.NONE;

        private Builder(String requestId, String client) {
            this.requestId = requestId;
            this.client = client;
        }

        private Builder(Request request) {
            requestId = request.requestId;
            client = request.client;
            kind = request.kind;
            tier = request.tier;
            cost = request.cost;
            sizeBytes = request.sizeBytes;
            attributes = request.attributes;
            deadlineMs = request.deadlineMs;
            notBeforeMs = request.notBeforeMs;
            payload = request.payload;
            queue = request.queue;
            limitOverride = request.limitOverride;
            policyId = request.policyId;
            reserveMs = request.reserveMs;
            settles = request.settles;
            acknowledgement = request.acknowledgement;
            timestampMs = request.timestampMs;
            source = request.source;
        }

        /** Sets the id of the request. */
        public Builder requestId(String value) {
            requestId = value;
            return this;
        }

        /** Sets what to do with the cost. The default is {@link RequestKind#CONSUME}. */
        public Builder kind(RequestKind value) {
            kind = value;
            return this;
        }

        /** Sets the client's tier; null for none, the default. */
        public Builder tier(String value) {
            tier = value;
            return this;
        }

        /** Sets the cost in tokens: 0 or more, signed for {@link RequestKind#SETTLE}. The default is 1. */
        public Builder cost(long value) {
            cost = value;
            return this;
        }

        /** Sets the size of the request in bytes; null for unknown, the default. */
        public Builder sizeBytes(Long value) {
            sizeBytes = value;
            return this;
        }

        /** Sets the fields that policies match on, besides tier and client. By default there are none. */
        public Builder attributes(Map<String, String> value) {
            attributes = value;
            return this;
        }

        /**
         * Sets the time after which the request is useless, in milliseconds since the epoch; null for none, the
         * default.
         */
        public Builder deadlineMs(Long value) {
            deadlineMs = value;
            return this;
        }

        /**
         * Sets the time before which the request is not released, in milliseconds since the epoch; null for none, the
         * default.
         */
        public Builder notBeforeMs(Long value) {
            notBeforeMs = value;
            return this;
        }

        /** Sets the bytes that the release carries; null for none, the default. */
        public Builder payload(byte[] value) {
            payload = value;
            return this;
        }

        /**
         * Sets the queue from which a {@link RequestKind#CANCEL} withdraws the request; null, the default, for other
         * kinds.
         */
        public Builder queue(String value) {
            queue = value;
            return this;
        }

        /** Sets the limit of this request; null for none, the default. */
        public Builder limitOverride(LimitOverride value) {
            limitOverride = value;
            return this;
        }

        /** Sets the only policy whose limits a {@link RequestKind#RESET} frees; null for all, the default. */
        public Builder policyId(String value) {
            policyId = value;
            return this;
        }

        /**
         * Sets how long the reservation of a {@link RequestKind#CONSUME} lasts, in milliseconds; null for none, the
         * default.
         */
        public Builder reserveMs(Long value) {
            reserveMs = value;
            return this;
        }

        /**
         * Sets the requestId of the reservation that a {@link RequestKind#SETTLE} ends; null for none, the default.
         */
        public Builder settles(String value) {
            settles = value;
            return this;
        }

        /**
         * Sets what a {@link RequestKind#COMPLETE} or {@link RequestKind#EXTEND} reports; null for none, the default.
         */
        public Builder acknowledgement(Acknowledgement value) {
            acknowledgement = value;
            return this;
        }

        /** Sets the timestamp in milliseconds since the epoch. The default is 0. */
        public Builder timestampMs(long value) {
            timestampMs = value;
            return this;
        }

        /** Sets the position at which the request was read. The default is {@link Source#NONE}. */
        public Builder source(Source value) {
            source = value;
            return this;
        }

        /** Sets the partition of the request topic and the offset in it at which the request was read. */
        public Builder source(int partition, long offset) {
            return source(new Source(partition, offset));
        }

        /** Returns the request. */
        public Request build() {
            return new Request(
                    requestId,
                    client,
                    kind,
                    tier,
                    cost,
                    sizeBytes,
                    attributes,
                    deadlineMs,
                    notBeforeMs,
                    payload,
                    queue,
                    limitOverride,
                    policyId,
                    reserveMs,
                    settles,
                    acknowledgement,
                    timestampMs,
                    source);
        }
    }
}
