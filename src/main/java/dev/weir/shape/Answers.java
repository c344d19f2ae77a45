package dev.weir.shape;

import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Reason;
import dev.weir.policy.Request;

/** The decisions of a queue. Times are whole milliseconds, rounded up. */
public final class Answers {

    private static final int OK = 200;
    private static final int ACCEPTED = 202;
    private static final int BAD_REQUEST = 400;
    private static final int NOT_FOUND = 404;
    private static final int GONE = 410;
    private static final int TOO_MANY = 429;
    private static final int UNAVAILABLE = 503;

    private Answers() {}

    /**
     * What is known of the answer to a request that is not asked of its queue: that there is none, that it waits, or that it
     * came before.
     *
     * @param rules the queue's, null if there is none
     */
    public static Decision unplaced(Admission admission, QueueRules rules, long nowMs) {
        if (admission.repeated()) {
            return taken(admission, nowMs);
        }
        return rules == null
                ? denied(admission, Reason.NO_QUEUE, null, null, null, nowMs)
                : queued(admission, null, null, nowMs);
    }

    /** It came before and was taken in, as far as is known. */
    static Decision taken(Admission repeat, long nowMs) {
        return queued(repeat, null, null, nowMs).again(repeat.request().source());
    }

    /**
     * It waits, or would if it did more than ask.
     *
     * @param position null if it is not known
     * @param expectedWaitMs null if it is not known
     */
    static Decision queued(Admission admission, Long position, Long expectedWaitMs, long nowMs) {
        return decision(
                admission,
                Outcome.QUEUED,
                Reason.SHAPED,
                admission.limitedBy(),
                admission.limit(),
                0L,
                new Decision.Queueing(admission.queue(), admission.key(), position, expectedWaitMs),
                ACCEPTED,
                nowMs);
    }

    /**
     * It does not wait, or no longer.
     *
     * @param limitedBy what of the queue's rules or of the request bound, null if nothing did
     * @param limit its value, null if it has none
     * @param retryAfterMs when the same request would be taken if nothing else comes, null if it never would
     */
    static Decision denied(
            Admission admission, Reason reason, String limitedBy, Long limit, Long retryAfterMs, long nowMs) {
        return decision(
                admission,
                Outcome.DENIED,
                reason,
                limitedBy,
                limit,
                retryAfterMs,
                nowhere(admission),
                UNAVAILABLE,
                nowMs);
    }

    /** It lacks a key field of the queue, so there is no bucket for it. */
    static Decision noKey(Admission admission, String field, long nowMs) {
        return decision(
                admission,
                Outcome.DENIED,
                Reason.NO_QUEUE_KEY,
                field,
                null,
                null,
                nowhere(admission),
                BAD_REQUEST,
                nowMs);
    }

    /** It costs more than the queue lets in. */
    static Decision neverFits(Admission admission, long maxCost, long nowMs) {
        return decision(
                admission,
                Outcome.DENIED,
                Reason.COST_NEVER_FITS,
                "cost",
                maxCost,
                null,
                nowhere(admission),
                TOO_MANY,
                nowMs);
    }

    /** It waited for too long. */
    static Decision expired(Admission admission, String limitedBy, Long retryAfterMs, long atMs) {
        return decision(
                admission,
                Outcome.EXPIRED,
                Reason.WAITED_TOO_LONG,
                limitedBy,
                null,
                retryAfterMs,
                nowhere(admission),
                UNAVAILABLE,
                atMs);
    }

    /** It was withdrawn. */
    static Decision withdrawn(Admission admission, long nowMs) {
        return decision(admission, Outcome.DENIED, Reason.CANCELLED, null, null, null, nowhere(admission), GONE, nowMs);
    }

    /** The answer to who withdraws. */
    static Decision cancel(Admission cancel, boolean found, long nowMs) {
        Outcome outcome = found ? Outcome.ALLOWED : Outcome.DENIED;
        Reason reason = found ? Reason.CANCELLED : Reason.NOT_WAITING;
        Long retryAfterMs = found ? (Long) 0L : null;
        return decision(
                cancel, outcome, reason, null, null, retryAfterMs, nowhere(cancel), found ? OK : NOT_FOUND, nowMs);
    }

    private static Decision.Queueing nowhere(Admission admission) {
        return new Decision.Queueing(admission.queue(), admission.key(), null, null);
    }

    private static Decision decision(
            Admission admission,
            Outcome outcome,
            Reason reason,
            String limitedBy,
            Long limit,
            Long retryAfterMs,
            Decision.Queueing queueing,
            int httpStatus,
            long decidedAtMs) {
        Request request = admission.request();
        return new Decision(
                request.requestId(),
                request.client(),
                outcome,
                reason,
                admission.policyId(),
                admission.policyVersion(),
                limitedBy,
                limit,
                null,
                null,
                null,
                retryAfterMs,
                null,
                false,
                false,
                false,
                queueing,
                httpStatus,
                decidedAtMs,
                request.source());
    }
}
