package dev.weir.event;

/** Why a decision is what it is; also a metric label, so the set is closed. */
public enum Reason {
    /** Every limit permits it. */
    WITHIN_LIMITS,
    /** Every limit permits it, but not yet: it is to be put off by {@code delayMs}. */
    THROTTLED,
    /** No policy matches. */
    NO_POLICY,
    /** A {@link RequestKind#SETTLE} was booked. */
    SETTLED,
    /** A limit refuses it for now. */
    LIMIT_EXCEEDED,
    /** No lease of a shared quota was available in time; its ledger has not refused one. */
    QUOTA_NOT_AT_HAND,
    /** The cost is above what a limit can ever give. */
    COST_NEVER_FITS,
    /** The request's size is above the policy's {@code max-size}. */
    TOO_LARGE,
    /** A request with the same id but another content was answered before. */
    IDEMPOTENCY_MISMATCH,
    /** A {@link RequestKind#SETTLE} with a negative cost applies to a shared limit, which gives nothing back. */
    SHARED_LIMIT_REFUND,
    /** It waits for its turn. */
    SHAPED,
    /** The queue is full, and nothing of a lower priority waits. */
    QUEUE_FULL,
    /** Even if nothing more comes, its turn is after its deadline or the queue's {@code max-wait}. */
    TOO_LATE,
    /** It had to give way to one of a higher priority. */
    EVICTED,
    /** Its deadline or the queue's {@code max-wait} passed. */
    WAITED_TOO_LONG,
    /** It was withdrawn; of a {@link RequestKind#CANCEL}: it has withdrawn one. */
    CANCELLED,
    /** There is nothing to withdraw: it never waited in this queue, or does so no more. */
    NOT_WAITING,
    /** The policy's queue does not exist. */
    NO_QUEUE,
    /** The request lacks a field by whose value its queue has a bucket of its own. */
    NO_QUEUE_KEY
}
