package dev.weir.shape.backlog;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;

/** The decisions of a queue. Times are whole milliseconds, rounded up. */
public final class QueueDecisions {

    private static final int BAD_REQUEST = 400;
    private static final int NOT_FOUND = 404;
    private static final int GONE = 410;
    private static final int TOO_MANY = 429;
    private static final int UNAVAILABLE = 503;

    private QueueDecisions() {}

    /**
     * What is known of the answer to a request that is not asked of its queue: that there is none, that it waits, or
     * that it came before.
     *
     * @param rules the queue's, null if there is none
     */
    public static Decision provisional(Admission admission, QueueRules rules, long nowMs) {
        if (admission.repeated()) {
            return acceptedRepeat(admission, nowMs);
        }
        return rules == null ? noQueue(admission, nowMs) : queued(admission, null, null, nowMs);
    }

    /** It came before and was taken in, as far as is known. */
    public static Decision acceptedRepeat(Admission repeat, long nowMs) {
        return queued(repeat, null, null, nowMs).asRepeated(repeat.request().source());
    }

    /**
     * It waits, or would if it did more than ask.
     *
     * @param position null if it is not known
     * @param expectedWaitMs null if it is not known
     */
    public static Decision queued(Admission admission, Long position, Long expectedWaitMs, long nowMs) {
        Decision.Queueing queueing =
                new Decision.Queueing(admission.queue(), admission.key(), position, expectedWaitMs);
        return Decision.queued(admission.request(), queueing, nowMs)
                .withLimit(admission.policy(), admission.exceeded());
    }

    /** There is no queue for it, or none any more. */
    public static Decision noQueue(Admission admission, long nowMs) {
        return denied(admission, Reason.NO_QUEUE, UNAVAILABLE, null, nowMs);
    }

    /**
     * The queue does not take it in, or takes it out.
     *
     * @param bound what of the queue's rules or of the request it exceeds
     * @param retryAfterMs when the same request would be taken if nothing else comes, null if it never would
     */
    public static Decision denied(
            Admission admission, Reason reason, LimitStatus bound, Long retryAfterMs, long nowMs) {
        return denied(admission, reason, UNAVAILABLE, bound, nowMs).withRetryAfterMs(retryAfterMs);
    }

    /** It lacks a key field of the queue, so there is no bucket for it. */
    public static Decision noKey(Admission admission, String field, long nowMs) {
        return denied(admission, Reason.NO_QUEUE_KEY, BAD_REQUEST, LimitStatus.of(field, null), nowMs);
    }

    /** It costs more than the queue lets in. */
    public static Decision neverFits(Admission admission, long maxCost, long nowMs) {
        return denied(admission, Reason.COST_NEVER_FITS, TOO_MANY, LimitStatus.of("cost", maxCost), nowMs);
    }

    /** It waited for too long. */
    public static Decision expired(Admission admission, String limitedBy, Long retryAfterMs, long atMs) {
        return Decision.expired(admission.request(), notQueued(admission), atMs)
                .withLimit(admission.policy(), LimitStatus.of(limitedBy, null))
                .withRetryAfterMs(retryAfterMs);
    }

    /** It was withdrawn. */
    public static Decision cancelled(Admission admission, long nowMs) {
        return denied(admission, Reason.CANCELLED, GONE, null, nowMs);
    }

    /** The answer to who withdraws. */
    public static Decision cancelResult(Admission cancel, boolean found, long nowMs) {
        return found
                ? Decision.allowed(cancel.request(), Reason.CANCELLED, nowMs)
                        .withLimit(cancel.policy(), null)
                        .withQueueing(notQueued(cancel))
                : denied(cancel, Reason.NOT_WAITING, NOT_FOUND, null, nowMs);
    }

    private static Decision denied(Admission admission, Reason reason, int httpStatus, LimitStatus bound, long nowMs) {
        return Decision.denied(admission.request(), reason, httpStatus, nowMs)
                .withLimit(admission.policy(), bound)
                .withQueueing(notQueued(admission));
    }

    private static Decision.Queueing notQueued(Admission admission) {
        return new Decision.Queueing(admission.queue(), admission.key(), null, null);
    }
}
