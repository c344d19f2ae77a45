package dev.weir.event;

import java.util.Map;

/**
 * A request for quota.
 *
 * @param requestId identifies the request in its decision, and as idempotency key
 * @param client the client whose quota is used
 * @param kind what to do with the cost
 * @param tier the client's tier, null if it has none
 * @param cost tokens, 0 or more; signed for {@link RequestKind#SETTLE}
 * @param sizeBytes the size of the request itself, in bytes; null if unknown
 * @param attributes further fields that policies match on, besides tier and client
 * @param deadlineMs the time after which the request is useless, in milliseconds since the epoch; null if there is none
 * @param payload copied unchanged to the release; null if there is none
 * @param queue the queue from which a {@link RequestKind#CANCEL} withdraws the request; null for other kinds
 * @param limitOverride the limit of this request, where policies allow one; null if it has none
 * @param policyId the only policy whose limits a {@link RequestKind#RESET} frees; null for all policies that apply, and
 *     for other kinds
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
        byte[] payload,
        String queue,
        LimitOverride limitOverride,
        String policyId,
        long timestampMs,
        Source source) {

    /** Creates a request without a limit of its own, for all policies that apply. */
    public Request(
            String requestId,
            String client,
            RequestKind kind,
            String tier,
            long cost,
            Long sizeBytes,
            Map<String, String> attributes,
            Long deadlineMs,
            byte[] payload,
            String queue,
            long timestampMs,
            Source source) {
        this(
                requestId,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                payload,
                queue,
                null,
                null,
                timestampMs,
                source);
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

    /** Returns this request with another id. */
    public Request withRequestId(String other) {
        return new Request(
                other,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                payload,
                queue,
                limitOverride,
                policyId,
                timestampMs,
                source);
    }

    /** Returns this request with another kind. */
    public Request withKind(RequestKind other) {
        return new Request(
                requestId,
                client,
                other,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                payload,
                queue,
                limitOverride,
                policyId,
                timestampMs,
                source);
    }

    /** Returns this request without its payload. */
    public Request withoutPayload() {
        return new Request(
                requestId,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                null,
                queue,
                limitOverride,
                policyId,
                timestampMs,
                source);
    }

    /** Returns this request at another time. */
    public Request withTimestampMs(long other) {
        return new Request(
                requestId,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                payload,
                queue,
                limitOverride,
                policyId,
                other,
                source);
    }

    /** Returns this request with another limit of its own; null for none. */
    public Request withLimitOverride(LimitOverride other) {
        return new Request(
                requestId,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                payload,
                queue,
                other,
                policyId,
                timestampMs,
                source);
    }

    /** Returns this request for one policy; null for all that apply. */
    public Request withPolicyId(String other) {
        return new Request(
                requestId,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                attributes,
                deadlineMs,
                payload,
                queue,
                limitOverride,
                other,
                timestampMs,
                source);
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
}
