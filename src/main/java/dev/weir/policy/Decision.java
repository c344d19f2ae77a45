package dev.weir.policy;

import java.util.Map;

/**
 * The answer to one request; it explains itself. Times are whole milliseconds, rounded up. The figures are those of the
 * binding limit: on a denial, of the limits that refuse, the one with the longest retry; else the one with the least
 * remaining.
 *
 * @param reason why
 * @param policyId the binding limit's policy, null if none matches
 * @param policyVersion its version, null if none matches
 * @param limitedBy the binding limit, as {@link Policy.Term#label}; {@code max-size}, {@code idempotency} or {@code refund}; or what of a queue
 *     bound: {@code capacity}, {@code max-wait}, {@code deadline} or {@code cost}; null if nothing is limited
 * @param limit the most that this limit gives at once, null if nothing is limited
 * @param windowMs in which time that much comes, null if there is no such time
 * @param remaining what could still be had now, after this decision; null if nothing is limited
 * @param resetAfterMs when the whole limit is free again, null if nothing is limited
 * @param retryAfterMs when the same cost passes if nothing else comes: 0 if it passed, null if it never can
 * @param delayMs by how long the caller is to put it off so that the rate is kept; null if its policies do not throttle
 * @param observed it would have been denied, but its policy only observes
 * @param shadowBanned it is denied, but the outside is to be told that all is well
 * @param repeated its requestId was seen before: this is what was decided then, and nothing is charged
 * @param queueing where it is to wait, was to wait or waited; null if it was not shaped
 * @param httpStatus what a gateway answers: 200, 202, 404, 410, 413, 422, 429 or 503
 * @param decidedAtMs the time that the decision went by: the request's, or that of its key's last charge if later
 * @param usage null; else it answers no request, but tells what was decided elsewhere
 * @param context when and by which policies it was decided; {@link DecisionContext#UNKNOWN} until that is recorded
 */
public record Decision(
        String requestId,
        String client,
        Outcome outcome,
        Reason reason,
        String policyId,
        Long policyVersion,
        String limitedBy,
        Long limit,
        Long windowMs,
        Long remaining,
        Long resetAfterMs,
        Long retryAfterMs,
        Long delayMs,
        boolean observed,
        boolean shadowBanned,
        boolean repeated,
        Queueing queueing,
        int httpStatus,
        long decidedAtMs,
        Request.Source source,
        LeaseUse usage,
        DecisionContext context)
        implements Ruling, FirstAnswer {

    private static final int OK = 200;

    /**
     * Tells what was decided elsewhere.
     *
     * @param number of all that the holder tells
     * @param policyId of which the quota is
     * @param decidedAtMs when the last of it was allowed, or denied if nothing was, ms since the epoch
     */
    public static Decision of(LeaseUse usage, long number, String policyId, long policyVersion, long decidedAtMs) {
        return new Decision(
                usage.holder() + "/" + usage.lease() + "/" + number,
                usage.key().getOrDefault("client", usage.holder()),
                Outcome.ALLOWED,
                Reason.WITHIN_LIMITS,
                policyId,
                policyVersion,
                null,
                null,
                null,
                null,
                null,
                0L,
                null,
                false,
                false,
                false,
                null,
                OK,
                decidedAtMs,
                Request.Source.NONE,
                usage,
                DecisionContext.UNKNOWN);
    }

    /** The answer to a request. */
    public Decision(
            String requestId,
            String client,
            Outcome outcome,
            Reason reason,
            String policyId,
            Long policyVersion,
            String limitedBy,
            Long limit,
            Long windowMs,
            Long remaining,
            Long resetAfterMs,
            Long retryAfterMs,
            Long delayMs,
            boolean observed,
            boolean shadowBanned,
            boolean repeated,
            Queueing queueing,
            int httpStatus,
            long decidedAtMs,
            Request.Source source) {
        this(
                requestId,
                client,
                outcome,
                reason,
                policyId,
                policyVersion,
                limitedBy,
                limit,
                windowMs,
                remaining,
                resetAfterMs,
                retryAfterMs,
                delayMs,
                observed,
                shadowBanned,
                repeated,
                queueing,
                httpStatus,
                decidedAtMs,
                source,
                null,
                DecisionContext.UNKNOWN);
    }

    /** The same with another context. */
    public Decision in(DecisionContext other) {
        return new Decision(
                requestId,
                client,
                outcome,
                reason,
                policyId,
                policyVersion,
                limitedBy,
                limit,
                windowMs,
                remaining,
                resetAfterMs,
                retryAfterMs,
                delayMs,
                observed,
                shadowBanned,
                repeated,
                queueing,
                httpStatus,
                decidedAtMs,
                source,
                usage,
                other);
    }

    /** The same for a repeat of the request, which was read elsewhere. */
    public Decision again(Request.Source repeat) {
        return new Decision(
                requestId,
                client,
                outcome,
                reason,
                policyId,
                policyVersion,
                limitedBy,
                limit,
                windowMs,
                remaining,
                resetAfterMs,
                retryAfterMs,
                delayMs,
                observed,
                shadowBanned,
                true,
                queueing,
                httpStatus,
                decidedAtMs,
                repeat,
                null,
                context);
    }

    /** Whether it tells how a wait has ended: the request has had a QUEUED decision before. */
    public boolean endsWait() {
        return outcome == Outcome.EXPIRED
                || (outcome == Outcome.DENIED && (reason == Reason.EVICTED || reason == Reason.CANCELLED));
    }

    /**
     * A place in a queue.
     *
     * @param key the values of the queue's key fields, by name; empty if it has none, or the request lacks one
     * @param position how many requests are expected to leave before it, plus one; null if it does not wait
     * @param expectedWaitMs how long it is expected to wait if nothing more comes, null if it does not wait
     */
    public record Queueing(String queue, Map<String, String> key, Long position, Long expectedWaitMs) {

        /** Of a queue without key fields. */
        public Queueing(String queue, Long position, Long expectedWaitMs) {
            this(queue, Map.of(), position, expectedWaitMs);
        }
    }
}
