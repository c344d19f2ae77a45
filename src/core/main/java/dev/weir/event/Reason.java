package dev.weir.event;

/** The reason for a decision. Reasons are also metric labels, so the set is closed. */
public enum Reason {
    /** All limits permit the request. */
    WITHIN_LIMITS,
    /** All limits permit the request after a delay of {@code delayMs}. */
    THROTTLED,
    /** No policy matches the request. */
    NO_POLICY,
    /** A {@link RequestKind#SETTLE} was charged, or has settled a reservation. */
    SETTLED,
    /** A {@link RequestKind#RELEASE} has ended a reservation. */
    RELEASED,
    /** A {@link RequestKind#RENEW} has prolonged a reservation. */
    RENEWED,
    /** The client has no open reservation with this requestId: there was none, or its time is over. Nothing changed. */
    NOTHING_RESERVED,
    /** The reservation was ended before, in another way. Nothing changed. */
    ALREADY_ENDED,
    /** There is no open reservation that a {@link RequestKind#RENEW} could prolong. */
    RESERVATION_ENDED,
    /** The partition has as many reservations as it may have. Nothing was charged. */
    TOO_MANY_RESERVATIONS,
    /**
     * A {@link RequestKind#RESET} freed the usage of all limits that apply, or of those of the policy that it names.
     */
    USAGE_RESET,
    /** A limit does not permit the cost at present. */
    LIMIT_EXCEEDED,
    /**
     * No lease of a shared quota was available in time, although its ledger has not refused one, or it refused one
     * because other holders have quota that they do not use.
     */
    QUOTA_NOT_AT_HAND,
    /** The cost exceeds the capacity of a limit. */
    COST_NEVER_FITS,
    /** The size of the request exceeds the policy's {@code max-size}. */
    TOO_LARGE,
    /** A request with the same requestId but different content was answered before. */
    IDEMPOTENCY_MISMATCH,
    /** A {@link RequestKind#SETTLE} with a negative cost applies to a shared limit, which permits no refunds. */
    SHARED_LIMIT_REFUND,
    /** The policy that a {@link RequestKind#RESET} names does not exist or does not apply to it. Nothing was freed. */
    POLICY_NOT_APPLICABLE,
    /** The request waits in a queue. */
    SHAPED,
    /** The queue is full, and no request of a lower priority waits in it. */
    QUEUE_FULL,
    /**
     * Even if nothing else arrives, the request would be released after its deadline or the queue's {@code max-wait}.
     */
    TOO_LATE,
    /** The queue was full and a request of a higher priority arrived. */
    EVICTED,
    /** The request's deadline or the queue's {@code max-wait} passed. */
    WAITED_TOO_LONG,
    /**
     * The request was withdrawn. For a {@link RequestKind#CANCEL}: it has withdrawn a request, or ended a reservation.
     */
    CANCELLED,
    /** There is no request to withdraw: it never waited in this queue, or no longer waits. */
    NOT_WAITING,
    /** The policy's queue does not exist, or drains because its key has changed. */
    NO_QUEUE,
    /**
     * The request must not start before a time, but no policy that applies to it has a queue in which it could wait.
     * Nothing was charged.
     */
    NOT_SHAPED,
    /** The request lacks one of the key fields of its queue. */
    NO_QUEUE_KEY,
    /** An operator lets the queue, or this key of it, drain: it admits nothing. */
    QUEUE_DRAINING,
    /** An operator has purged the queue, or this key of it, in which the request waited. */
    PURGED,
    /** A {@link RequestKind#COMPLETE} has ended an attempt of a released request. */
    COMPLETED,
    /** A {@link RequestKind#EXTEND} has prolonged an attempt of a released request. */
    EXTENDED,
    /**
     * The attempt that a {@link RequestKind#COMPLETE} or {@link RequestKind#EXTEND} names has ended, or is another
     * client's. Nothing changed.
     */
    STALE_ATTEMPT,
    /** A {@link RequestKind#CANCEL} names a request that was released and is being processed. Nothing changed. */
    IN_FLIGHT,
    /** The last attempt of a released request failed, or was not completed in time. */
    ATTEMPTS_EXHAUSTED,
    /** The worker reported that the released request has failed. */
    FAILED
}
