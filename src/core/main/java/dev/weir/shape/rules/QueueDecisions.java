package dev.weir.shape.rules;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;

/** The decisions of a queue. Times are whole milliseconds, rounded up. */
public final class QueueDecisions {

    private static final int BAD_REQUEST = 400;
    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;
    private static final int GONE = 410;
    private static final int TOO_MANY = 429;
    private static final int UNAVAILABLE = 503;

    private QueueDecisions() {}

    /**
     * Returns what is known of a queue's answer without asking the queue: that there is no queue, that the request
     * waits, or that it is a repeat.
     *
     * @param rules the rules of the queue, null if there is none
     */
    public static Decision provisional(Admission admission, QueueRules rules, long nowMs) {
        if (admission.repeated()) {
            return acceptedRepeat(admission, nowMs);
        }
        return rules == null ? noQueue(admission, nowMs) : queued(admission, null, null, nowMs);
    }

    /** Returns the answer to a repeat whose first answer is unknown: the request was queued, at an unknown position. */
    public static Decision acceptedRepeat(Admission repeat, long nowMs) {
        return queued(repeat, null, null, nowMs).asRepeated(repeat.request().source());
    }

    /** Returns the first answer as that to a repeat. The end of a reservation is the current one. */
    public static Decision repeated(Decision first, Admission repeat) {
        Decision repeated = first.asRepeated(repeat.request().source());
        return first.outcome() == Outcome.QUEUED ? repeated.withReservedUntilMs(repeat.reservedUntilMs()) : repeated;
    }

    /**
     * Returns the decision that the request waits or, for a {@code PEEK}, would wait.
     *
     * @param position null if unknown
     * @param expectedWaitMs null if unknown
     */
    public static Decision queued(Admission admission, Long position, Long expectedWaitMs, long nowMs) {
        Decision.Queueing queueing =
                new Decision.Queueing(admission.queue(), admission.key(), position, expectedWaitMs);
        return Decision.queued(admission.request(), queueing, nowMs)
                .withLimit(admission.policy(), admission.exceeded())
                .withObservedBy(admission.sent().observedBy())
                .withReservedUntilMs(admission.reservedUntilMs());
    }

    /** Returns the denial of a request whose queue does not exist. */
    public static Decision noQueue(Admission admission, long nowMs) {
        return denied(admission, Reason.NO_QUEUE, UNAVAILABLE, null, nowMs);
    }

    /**
     * Returns the decision that the queue does not admit the request, or removes it.
     *
     * @param bound the bound that the request exceeds
     * @param retryAfterMs when the same request would be admitted if nothing else arrives, null if it never would
     */
    public static Decision denied(
            Admission admission, Reason reason, LimitStatus bound, Long retryAfterMs, long nowMs) {
        return denied(admission, reason, UNAVAILABLE, bound, nowMs).withRetryAfterMs(retryAfterMs);
    }

    /** Returns the denial of a request whose queue, or key, admits nothing by command of an operator. */
    public static Decision draining(Admission admission, long nowMs) {
        return denied(admission, Reason.QUEUE_DRAINING, UNAVAILABLE, null, nowMs);
    }

    /** Returns the decision that the request was removed by command of an operator. */
    public static Decision purged(Admission admission, long nowMs) {
        return denied(admission, Reason.PURGED, GONE, null, nowMs);
    }

    /** Returns the denial of a request that lacks a key field of the queue. */
    public static Decision noKey(Admission admission, String field, long nowMs) {
        return denied(admission, Reason.NO_QUEUE_KEY, BAD_REQUEST, LimitStatus.of(field, null), nowMs);
    }

    /** Returns the denial of a request that costs more than the queue admits. */
    public static Decision neverFits(Admission admission, long maxCost, long nowMs) {
        return denied(admission, Reason.COST_NEVER_FITS, TOO_MANY, LimitStatus.of("cost", maxCost), nowMs);
    }

    /** Returns the decision that the request expired. */
    public static Decision expired(Admission admission, String limitedBy, Long retryAfterMs, long atMs) {
        return Decision.expired(admission.request(), notQueued(admission), atMs)
                .withLimit(admission.policy(), LimitStatus.of(limitedBy, null))
                .withRetryAfterMs(retryAfterMs);
    }

    /** Returns the decision that the request was withdrawn. */
    public static Decision cancelled(Admission admission, long nowMs) {
        return denied(admission, Reason.CANCELLED, GONE, null, nowMs);
    }

    /** Returns the answer of a queue to the worker whose attempt it has ended or prolonged. */
    public static Decision acknowledged(Admission answer, long nowMs) {
        Reason reason = answer.request().kind() == RequestKind.EXTEND ? Reason.EXTENDED : Reason.COMPLETED;
        return Decision.allowed(answer.request(), reason, nowMs)
                .withLimit(answer.policy(), null)
                .withQueueing(notQueued(answer));
    }

    /** Returns the answer to a worker whose attempt has ended before, or never existed. */
    public static Decision staleAttempt(Admission answer, long nowMs) {
        return denied(answer, Reason.STALE_ATTEMPT, GONE, null, nowMs);
    }

    /** Returns the answer to the request that withdraws one which was released and is being processed. */
    public static Decision inFlight(Admission cancel, long nowMs) {
        return denied(cancel, Reason.IN_FLIGHT, CONFLICT, null, nowMs);
    }

    /** Returns the decision that a released request has failed, and is not released again. */
    public static Decision failed(Admission admission, long nowMs) {
        return denied(admission, Reason.FAILED, UNAVAILABLE, null, nowMs);
    }

    /** Returns the decision that the last attempt of a released request has failed. */
    public static Decision attemptsExhausted(Admission admission, int maxAttempts, long nowMs) {
        return denied(
                admission,
                Reason.ATTEMPTS_EXHAUSTED,
                UNAVAILABLE,
                LimitStatus.of("max-attempts", (long) maxAttempts),
                nowMs);
    }

    /** Returns the answer to the request that withdraws another. */
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
