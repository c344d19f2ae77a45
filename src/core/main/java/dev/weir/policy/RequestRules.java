package dev.weir.policy;

import dev.weir.event.Acknowledgement;
import dev.weir.event.LimitOverride;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Limit;
import java.util.Map;
import java.util.Optional;

/**
 * The bounds that a request must respect before it is decided. The length of a text is counted in Unicode code points.
 *
 * @param maxPayloadBytes the largest payload, in bytes
 * @param maxAttributes the most attributes
 * @param maxAttributeLength the longest attribute name or value
 * @param maxCost the largest cost, of either sign
 */
public record RequestRules(int maxPayloadBytes, int maxAttributes, int maxAttributeLength, long maxCost) {

    /** The longest requestId, client and tier. */
    public static final int MAX_NAME_LENGTH = 256;

    /** The last millisecond of the year 9999. */
    public static final long MAX_TIMESTAMP_MS = 253_402_300_799_999L;

    /** The rule that a request violates, and what is wrong with it. */
    public record Violation(Rejection rejection, String detail) {}

    /** Returns the first rule that the request violates, if any. */
    public Optional<Violation> check(Request request) {
        if (request.client().isEmpty()) {
            return violation(Rejection.NO_CLIENT, "client is empty");
        }
        if (isTooLong(request.client())) {
            return tooLong(Rejection.CLIENT_TOO_LONG, "client", request.client());
        }
        if (request.requestId().isEmpty()) {
            return violation(Rejection.NO_REQUEST_ID, "requestId is empty");
        }
        if (isTooLong(request.requestId())) {
            return tooLong(Rejection.REQUEST_ID_TOO_LONG, "requestId", request.requestId());
        }
        if (request.tier() != null && isTooLong(request.tier())) {
            return tooLong(Rejection.TIER_TOO_LONG, "tier", request.tier());
        }
        if (request.cost() < 0 && request.kind() != RequestKind.SETTLE) {
            return violation(
                    Rejection.NEGATIVE_COST,
                    "cost must be 0 or more, is " + request.cost() + "; only a SETTLE can have a negative cost");
        }
        if (request.cost() < 0 && request.settles() != null) {
            return violation(
                    Rejection.NEGATIVE_COST,
                    "cost must be 0 or more if settles names a reservation, is " + request.cost()
                            + ": it is what the request really cost");
        }
        if (request.cost() > maxCost || request.cost() < -maxCost) {
            return violation(
                    Rejection.COST_TOO_LARGE,
                    "cost must be " + (request.cost() > 0 ? "at most " + maxCost : "at least " + -maxCost) + ", is "
                            + request.cost());
        }
        if (request.sizeBytes() != null && request.sizeBytes() < 0) {
            return violation(Rejection.NEGATIVE_SIZE, "sizeBytes must be 0 or more, is " + request.sizeBytes());
        }
        LimitOverride override = request.limitOverride();
        if (override != null && (override.limit() < 0 || override.limit() > Limit.MAX_CAPACITY)) {
            return violation(
                    Rejection.INVALID_LIMIT_OVERRIDE,
                    "limitOverride.limit must be 0 to " + Limit.MAX_CAPACITY + ", is " + override.limit());
        }
        if (override != null && (override.windowMs() < 1 || override.windowMs() > Limit.MAX_LEVEL)) {
            return violation(
                    Rejection.INVALID_LIMIT_OVERRIDE,
                    "limitOverride.windowMs must be 1 to " + Limit.MAX_LEVEL + ", is " + override.windowMs());
        }
        if (request.payload() != null && request.payload().length > maxPayloadBytes) {
            return violation(
                    Rejection.PAYLOAD_TOO_LARGE,
                    "payload has " + request.payload().length + " bytes; the maximum is " + maxPayloadBytes);
        }
        if (request.timestampMs() < 0 || request.timestampMs() > MAX_TIMESTAMP_MS) {
            return violation(
                    Rejection.TIMESTAMP_OUT_OF_RANGE,
                    "timestamp must be in the years 1970 to 9999, in ms since 1970, is " + request.timestampMs());
        }
        if (request.policyId() != null && request.kind() != RequestKind.RESET) {
            return violation(
                    Rejection.INVALID_POLICY_ID,
                    "policyId is for requests of the kind RESET, this is a " + request.kind());
        }
        if (request.policyId() != null && !Policy.isName(request.policyId())) {
            return violation(
                    Rejection.INVALID_POLICY_ID,
                    "policyId must be 1 to 128 letters, digits or . _ -, is '" + request.policyId() + "'");
        }
        return checkNotBefore(request)
                .or(() -> checkReservation(request))
                .or(() -> checkAcknowledgement(request))
                .or(() -> checkAttributes(request.attributes()));
    }

    private static Optional<Violation> checkNotBefore(Request request) {
        Long notBeforeMs = request.notBeforeMs();
        if (notBeforeMs == null) {
            return Optional.empty();
        }
        if (request.kind() != RequestKind.CONSUME && request.kind() != RequestKind.PEEK) {
            return violation(
                    Rejection.INVALID_NOT_BEFORE,
                    "notBefore is for requests of the kind CONSUME, this is a " + request.kind());
        }
        long latestMs = request.timestampMs() + Request.MAX_POSTPONED_MS;
        return notBeforeMs > latestMs
                ? violation(
                        Rejection.INVALID_NOT_BEFORE,
                        "notBefore must be at most 30 days after the timestamp, that is " + latestMs
                                + " ms since 1970, is " + notBeforeMs)
                : Optional.empty();
    }

    private static Optional<Violation> checkReservation(Request request) {
        RequestKind kind = request.kind();
        if (request.queue() != null && kind == RequestKind.CANCEL && !Policy.isName(request.queue())) {
            return violation(
                    Rejection.INVALID_QUEUE,
                    "queue must be the one named in the QUEUED decision, or left out to cancel a reservation, is '"
                            + request.queue() + "'");
        }
        if (request.queue() != null && request.isForReservation()) {
            return violation(
                    Rejection.INVALID_QUEUE,
                    "queue is for requests of the kind CANCEL, this is a " + kind + " of a reservation");
        }
        if (request.reserveMs() != null && kind != RequestKind.CONSUME && kind != RequestKind.PEEK) {
            return violation(
                    Rejection.INVALID_RESERVATION,
                    "reserve is for requests of the kind CONSUME, this is a " + kind
                            + (kind == RequestKind.RENEW
                                    ? ", which prolongs a reservation by its first duration"
                                    : ""));
        }
        if (request.reserveMs() != null && (request.reserveMs() < 1 || request.reserveMs() > Request.MAX_RESERVE_MS)) {
            return violation(
                    Rejection.INVALID_RESERVATION,
                    "reserve must be 1 to " + Request.MAX_RESERVE_MS + " ms, is " + request.reserveMs());
        }
        if (request.settles() == null) {
            return Optional.empty();
        }
        if (kind != RequestKind.SETTLE) {
            return violation(
                    Rejection.INVALID_RESERVATION,
                    "settles is for requests of the kind SETTLE, this is a " + kind
                            + (request.isForReservation() ? ": give the id of the reservation as requestId" : ""));
        }
        return request.settles().isEmpty()
                ? violation(Rejection.INVALID_RESERVATION, "settles must be the requestId of the reservation, is empty")
                : isTooLong(request.settles())
                        ? tooLong(Rejection.INVALID_RESERVATION, "settles", request.settles())
                        : Optional.empty();
    }

    private static Optional<Violation> checkAcknowledgement(Request request) {
        Acknowledgement reported = request.acknowledgement();
        RequestKind kind = request.kind();
        if (!kind.isAcknowledgement()) {
            return reported == null
                    ? Optional.empty()
                    : invalidAcknowledgement(
                            "receipt is for requests of the kinds COMPLETE and EXTEND, this is a " + kind);
        }
        if (reported == null) {
            return invalidAcknowledgement("receipt is required for " + kind + ": copy it from the release");
        }
        try {
            reported.attempt();
        } catch (IllegalArgumentException e) {
            return invalidAcknowledgement(e.getMessage());
        }
        boolean isRetry = reported.result() == Acknowledgement.Result.RETRY;
        Long retryAfterMs = reported.retryAfterMs();
        if ((kind == RequestKind.COMPLETE) == (reported.result() == null)) {
            return invalidAcknowledgement(
                    kind == RequestKind.COMPLETE
                            ? "result is required for COMPLETE: done, retry or failed"
                            : "result is for requests of the kind COMPLETE, this is an EXTEND");
        }
        if (retryAfterMs != null
                && (!isRetry || retryAfterMs < 0 || retryAfterMs > Acknowledgement.MAX_RETRY_AFTER_MS)) {
            return invalidAcknowledgement("retryAfterMs must be 0 to " + Acknowledgement.MAX_RETRY_AFTER_MS
                    + ", and the result retry, is " + retryAfterMs);
        }
        return reported.error() != null && length(reported.error()) > Acknowledgement.MAX_ERROR_LENGTH
                ? invalidAcknowledgement("error has " + length(reported.error()) + " characters; the maximum is "
                        + Acknowledgement.MAX_ERROR_LENGTH)
                : Optional.empty();
    }

    private static Optional<Violation> invalidAcknowledgement(String detail) {
        return violation(Rejection.INVALID_ACKNOWLEDGEMENT, detail);
    }

    private Optional<Violation> checkAttributes(Map<String, String> attributes) {
        if (attributes.size() > maxAttributes) {
            return violation(
                    Rejection.ATTRIBUTES_TOO_LARGE, attributes.size() + " attributes; the maximum is " + maxAttributes);
        }
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            int longest = Math.max(length(attribute.getKey()), length(attribute.getValue()));
            if (longest > maxAttributeLength) {
                return violation(
                        Rejection.ATTRIBUTES_TOO_LARGE,
                        "an attribute has " + longest + " characters; the maximum is " + maxAttributeLength);
            }
        }
        return Optional.empty();
    }

    /** Returns whether a text is longer than a requestId, client or tier can be. */
    public static boolean isTooLong(String name) {
        return name.length() > MAX_NAME_LENGTH && length(name) > MAX_NAME_LENGTH;
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }

    private static Optional<Violation> tooLong(Rejection rejection, String field, String value) {
        return violation(rejection, field + " has " + length(value) + " characters; the maximum is " + MAX_NAME_LENGTH);
    }

    private static Optional<Violation> violation(Rejection rejection, String detail) {
        return Optional.of(new Violation(rejection, detail));
    }
}
