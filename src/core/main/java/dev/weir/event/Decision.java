package dev.weir.event;

import java.util.Map;

/**
 * The answer to one request, with what explains it: the binding limit and its policy. The binding limit is, on a
 * denial, the refusing limit with the longest retry; otherwise the limit with the least remaining. Times are whole
 * milliseconds, rounded up.
 *
 * @param policy the policy of the binding limit; null if no policy matches
 * @param bindingLimit null if nothing is limited
 * @param queueing where the request waits, was to wait or waited; null if it was not shaped
 * @param context when and by which policies it was decided; {@link DecisionContext#UNKNOWN} until that is recorded
 */
public record Decision(
        Identity identity,
        Status status,
        Timing timing,
        PolicyVersion policy,
        LimitStatus bindingLimit,
        Queueing queueing,
        DecisionContext context)
        implements DecisionResult, IdempotentAnswer {

    private static final int OK = 200;
    private static final int ACCEPTED = 202;
    private static final int UNAVAILABLE = 503;

    /** The request that is answered. */
    public record Identity(String requestId, String client, Request.Source source) {

        public static Identity of(Request request) {
            return new Identity(request.requestId(), request.client(), request.source());
        }
    }

    /**
     * What was decided.
     *
     * @param httpStatus the response of a gateway: 200, 202, 400, 404, 410, 413, 422, 429 or 503
     * @param observed the request would have been denied, but its policy only observes
     * @param shadowBanned the request is denied, but the gateway responds as if it were allowed
     * @param repeated the requestId was seen before: this is the first decision again, and nothing is charged
     */
    public record Status(
            Outcome outcome, Reason reason, int httpStatus, boolean observed, boolean shadowBanned, boolean repeated) {

        public Status(Outcome outcome, Reason reason, int httpStatus) {
            this(outcome, reason, httpStatus, false, false, false);
        }

        public static Status allowed(Reason reason) {
            return new Status(Outcome.ALLOWED, reason, OK);
        }

        Status asRepeated() {
            return new Status(outcome, reason, httpStatus, observed, shadowBanned, true);
        }
    }

    /**
     * When the request was decided and when it may proceed.
     *
     * @param decidedAtMs the time that was decided by: that of the request, or that of its key's last charge if later
     * @param retryAfterMs when the same cost passes if nothing else arrives: 0 if it passed, null if it never can
     * @param delayMs the time for which the caller has to delay the request to keep the rate; null if its policies do
     *     not throttle
     */
    public record Timing(long decidedAtMs, Long retryAfterMs, Long delayMs) {

        /** The request passed and need not be delayed. */
        public static Timing passed(long decidedAtMs) {
            return new Timing(decidedAtMs, 0L, null);
        }

        /** The request cannot pass. */
        public static Timing never(long decidedAtMs) {
            return new Timing(decidedAtMs, null, null);
        }
    }

    /**
     * A place in a queue.
     *
     * @param key the values of the queue's key fields, by name; empty if it has none, or the request lacks one
     * @param position the number of requests that are expected to leave before this one, plus one; null if it does not
     *     wait
     * @param expectedWaitMs the expected wait if nothing more arrives; null if it does not wait
     */
    public record Queueing(String queue, Map<String, String> key, Long position, Long expectedWaitMs) {

        /** Of a queue without key fields. */
        public Queueing(String queue, Long position, Long expectedWaitMs) {
            this(queue, Map.of(), position, expectedWaitMs);
        }
    }

    /** Without a policy, limit or queue, which the {@code with} methods add. */
    public Decision(Identity identity, Status status, Timing timing) {
        this(identity, status, timing, null, null, null, DecisionContext.UNKNOWN);
    }

    /** The request is allowed because no policy matches. */
    public static Decision unmatched(Request request) {
        return new Decision(
                Identity.of(request), Status.allowed(Reason.NO_POLICY), Timing.passed(request.timestampMs()));
    }

    public static Decision allowed(Request request, Reason reason, long decidedAtMs) {
        return new Decision(Identity.of(request), Status.allowed(reason), Timing.passed(decidedAtMs));
    }

    /** A denial that no later retry changes, unless {@link #withRetryAfterMs} says otherwise. */
    public static Decision denied(Request request, Reason reason, int httpStatus, long decidedAtMs) {
        return new Decision(
                Identity.of(request), new Status(Outcome.DENIED, reason, httpStatus), Timing.never(decidedAtMs));
    }

    /** The request waits in a queue, or would if it did more than ask. */
    public static Decision queued(Request request, Queueing queueing, long decidedAtMs) {
        return new Decision(
                        Identity.of(request),
                        new Status(Outcome.QUEUED, Reason.SHAPED, ACCEPTED),
                        Timing.passed(decidedAtMs))
                .withQueueing(queueing);
    }

    /** The request waited for too long. */
    public static Decision expired(Request request, Queueing queueing, long decidedAtMs) {
        return new Decision(
                        Identity.of(request),
                        new Status(Outcome.EXPIRED, Reason.WAITED_TOO_LONG, UNAVAILABLE),
                        Timing.never(decidedAtMs))
                .withQueueing(queueing);
    }

    public Decision withStatus(Status other) {
        return new Decision(identity, other, timing, policy, bindingLimit, queueing, context);
    }

    /** @param other null if the request never can pass */
    public Decision withRetryAfterMs(Long other) {
        Timing later = new Timing(timing.decidedAtMs, other, timing.delayMs);
        return new Decision(identity, status, later, policy, bindingLimit, queueing, context);
    }

    /** @param limit null if nothing is limited */
    public Decision withLimit(PolicyVersion of, LimitStatus limit) {
        return new Decision(identity, status, timing, of, limit, queueing, context);
    }

    public Decision withQueueing(Queueing other) {
        return new Decision(identity, status, timing, policy, bindingLimit, other, context);
    }

    /** The same with another context. */
    public Decision withContext(DecisionContext other) {
        return new Decision(identity, status, timing, policy, bindingLimit, queueing, other);
    }

    /** The same for a repeat of the request, which was read elsewhere. */
    public Decision asRepeated(Request.Source repeat) {
        Identity repeated = new Identity(identity.requestId, identity.client, repeat);
        return new Decision(repeated, status.asRepeated(), timing, policy, bindingLimit, queueing, context);
    }

    /** Whether this decision ends a wait: the request has had a QUEUED decision before. */
    public boolean endsWait() {
        return outcome() == Outcome.EXPIRED
                || (outcome() == Outcome.DENIED && (reason() == Reason.EVICTED || reason() == Reason.CANCELLED));
    }

    public String requestId() {
        return identity.requestId;
    }

    public String client() {
        return identity.client;
    }

    public Request.Source source() {
        return identity.source;
    }

    public Outcome outcome() {
        return status.outcome;
    }

    public Reason reason() {
        return status.reason;
    }

    public int httpStatus() {
        return status.httpStatus;
    }

    public boolean observed() {
        return status.observed;
    }

    public boolean shadowBanned() {
        return status.shadowBanned;
    }

    public boolean repeated() {
        return status.repeated;
    }

    public long decidedAtMs() {
        return timing.decidedAtMs;
    }

    /** Null if the request never can pass. */
    public Long retryAfterMs() {
        return timing.retryAfterMs;
    }

    /** Null if the policies do not throttle. */
    public Long delayMs() {
        return timing.delayMs;
    }

    /** Null if no policy matches. */
    public String policyId() {
        return policy == null ? null : policy.id();
    }

    /** Null if no policy matches. */
    public Long policyVersion() {
        return policy == null ? null : (Long) policy.version();
    }

    /** The label of the binding limit; null if nothing is limited. */
    public String limitedBy() {
        return bindingLimit == null ? null : bindingLimit.label();
    }

    /** {@link LimitStatus#limit}; null if nothing is limited. */
    public Long limit() {
        return bindingLimit == null ? null : bindingLimit.limit();
    }

    /** {@link LimitStatus#windowMs}; null if nothing is limited. */
    public Long windowMs() {
        return bindingLimit == null ? null : bindingLimit.windowMs();
    }

    /** {@link LimitStatus#remaining}; null if nothing is limited. */
    public Long remaining() {
        return bindingLimit == null ? null : bindingLimit.remaining();
    }

    /** {@link LimitStatus#resetAfterMs}; null if nothing is limited. */
    public Long resetAfterMs() {
        return bindingLimit == null ? null : bindingLimit.resetAfterMs();
    }
}
