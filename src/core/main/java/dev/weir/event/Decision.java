package dev.weir.event;

import java.util.List;
import java.util.Map;

/**
 * The answer to one request, with the binding limit and its policy as explanation. The binding limit of a denial is the
 * refusing limit with the longest retry time; otherwise it is the limit with the least remaining. Policies that only
 * observe have no part in it, except {@link Status#observedBy}. Times are whole milliseconds, rounded up.
 *
 * @param identity the request
 * @param status the outcome
 * @param timing when the request was decided and when it can be retried
 * @param explanation the binding limit and all limits that are enforced
 * @param queueing the request's place in its queue; null if it was not sent to a queue
 * @param context when and by which policies it was decided; {@link DecisionContext#UNKNOWN} until that is recorded
 */
public record Decision(
        Identity identity,
        Status status,
        Timing timing,
        Explanation explanation,
        Queueing queueing,
        DecisionContext context)
        implements DecisionResult, IdempotentAnswer {

    /** The most ids in {@link Status#observedBy}. */
    public static final int MAX_OBSERVED_BY = 16;

    private static final int OK = 200;
    private static final int ACCEPTED = 202;
    private static final int UNAVAILABLE = 503;

    /**
     * Identifies the request that is answered.
     *
     * @param tier null if the request has none
     */
    public record Identity(String requestId, String client, String tier, Request.Source source) {

        /** Identifies a request without a tier. */
        public Identity(String requestId, String client, Request.Source source) {
            this(requestId, client, null, source);
        }

        public static Identity of(Request request) {
            return new Identity(request.requestId(), request.client(), request.tier(), request.source());
        }
    }

    /**
     * The outcome and its reason.
     *
     * @param httpStatus the status for a gateway to respond with: 200, 202, 400, 404, 410, 413, 422, 429 or 503
     * @param observed whether the request is allowed or queued, but a policy that only observes would have denied it
     * @param shadowBanned whether the request is denied while the gateway responds as if it were allowed
     * @param repeated whether the requestId was used before: the decision repeats the first one, and nothing is charged
     * @param observedBy the ids of the observing policies that would have denied the request, by layer; the first
     *     {@value #MAX_OBSERVED_BY} if there are more
     */
    public record Status(
            Outcome outcome,
            Reason reason,
            int httpStatus,
            boolean observed,
            boolean shadowBanned,
            boolean repeated,
            List<String> observedBy) {

        public Status {
            observedBy = List.copyOf(observedBy);
        }

        /** Creates a status without observing policies. */
        public Status(
                Outcome outcome,
                Reason reason,
                int httpStatus,
                boolean observed,
                boolean shadowBanned,
                boolean repeated) {
            this(outcome, reason, httpStatus, observed, shadowBanned, repeated, List.of());
        }

        public Status(Outcome outcome, Reason reason, int httpStatus) {
            this(outcome, reason, httpStatus, false, false, false);
        }

        public static Status allowed(Reason reason) {
            return new Status(Outcome.ALLOWED, reason, OK);
        }

        Status asRepeated() {
            return new Status(outcome, reason, httpStatus, observed, shadowBanned, true, observedBy);
        }
    }

    /**
     * When the request was decided and when it can proceed.
     *
     * @param decidedAtMs the decision time, in milliseconds since the epoch: that of the request, or that of its key's
     *     last charge if that is later
     * @param retryAfterMs how long until the same cost passes if nothing else arrives; 0 if it passed, null if it
     *     never can
     * @param delayMs how long the caller must delay the request to keep the rate; null if the policies do not throttle
     * @param reservedUntilMs when the reservation ends that the request created or renewed, or that it repeats, if it is
     *     neither ended nor renewed before; in milliseconds since the epoch, by the clock of {@code decidedAtMs}. Null if
     *     there is none, or if it has ended
     */
    public record Timing(long decidedAtMs, Long retryAfterMs, Long delayMs, Long reservedUntilMs) {

        /** Creates the timing of a request without a reservation. */
        public Timing(long decidedAtMs, Long retryAfterMs, Long delayMs) {
            this(decidedAtMs, retryAfterMs, delayMs, null);
        }

        /** Returns the timing of a request that passed and need not be delayed. */
        public static Timing passed(long decidedAtMs) {
            return new Timing(decidedAtMs, 0L, null);
        }

        /** Returns the timing of a request that can never pass. */
        public static Timing never(long decidedAtMs) {
            return new Timing(decidedAtMs, null, null);
        }
    }

    /**
     * The limits that explain a decision.
     *
     * @param policy the policy of the binding limit; null if no policy matches
     * @param bindingLimit the binding limit; null if nothing is limited
     * @param limits the limits that are enforced, at most {@value EnforcedLimit#MOST}, by layer; empty for decisions of
     *     queues and for those that no limit influences
     */
    public record Explanation(PolicyVersion policy, LimitStatus bindingLimit, List<EnforcedLimit> limits) {

        static final Explanation NONE = new Explanation(null, null, List.of());

        public Explanation {
            limits = List.copyOf(limits);
        }
    }

    /**
     * The place of a request in a queue.
     *
     * @param queue the id of the queue
     * @param key the values of the queue's key fields, by name; empty if it has none, or if the request lacks one
     * @param position one plus the number of requests expected to leave before this one; null if the request does
     *     not wait
     * @param expectedWaitMs the expected wait if nothing else arrives; null if the request does not wait
     */
    public record Queueing(String queue, Map<String, String> key, Long position, Long expectedWaitMs) {

        /** Creates a place in a queue without key fields. */
        public Queueing(String queue, Long position, Long expectedWaitMs) {
            this(queue, Map.of(), position, expectedWaitMs);
        }
    }

    /** Creates a decision without policy, limit and queue. The {@code with} methods add them. */
    public Decision(Identity identity, Status status, Timing timing) {
        this(identity, status, timing, Explanation.NONE, null, DecisionContext.UNKNOWN);
    }

    /** Creates a decision that lists no limits. {@link #withLimits} adds them. */
    public Decision(
            Identity identity,
            Status status,
            Timing timing,
            PolicyVersion policy,
            LimitStatus bindingLimit,
            Queueing queueing,
            DecisionContext context) {
        this(identity, status, timing, new Explanation(policy, bindingLimit, List.of()), queueing, context);
    }

    /** Returns the decision that allows a request to which no policy applies that enforces. */
    public static Decision unmatched(Request request) {
        return new Decision(
                Identity.of(request), Status.allowed(Reason.NO_POLICY), Timing.passed(request.timestampMs()));
    }

    public static Decision allowed(Request request, Reason reason, long decidedAtMs) {
        return new Decision(Identity.of(request), Status.allowed(reason), Timing.passed(decidedAtMs));
    }

    /** Returns a denial that no retry can change. {@link #withRetryAfterMs} sets a retry time. */
    public static Decision denied(Request request, Reason reason, int httpStatus, long decidedAtMs) {
        return new Decision(
                Identity.of(request), new Status(Outcome.DENIED, reason, httpStatus), Timing.never(decidedAtMs));
    }

    /** Returns the decision that the request waits in a queue or, for a {@link RequestKind#PEEK}, would wait. */
    public static Decision queued(Request request, Queueing queueing, long decidedAtMs) {
        return new Decision(
                        Identity.of(request),
                        new Status(Outcome.QUEUED, Reason.SHAPED, ACCEPTED),
                        Timing.passed(decidedAtMs))
                .withQueueing(queueing);
    }

    /** Returns the decision that the request has expired in a queue. */
    public static Decision expired(Request request, Queueing queueing, long decidedAtMs) {
        return new Decision(
                        Identity.of(request),
                        new Status(Outcome.EXPIRED, Reason.WAITED_TOO_LONG, UNAVAILABLE),
                        Timing.never(decidedAtMs))
                .withQueueing(queueing);
    }

    public Decision withStatus(Status other) {
        return new Decision(identity, other, timing, explanation, queueing, context);
    }

    /** Returns this decision with the ids of the observing policies that would have denied the request. */
    public Decision withObservedBy(List<String> ids) {
        if (ids.isEmpty() && !status.observed) {
            return this;
        }
        return withStatus(new Status(
                status.outcome,
                status.reason,
                status.httpStatus,
                !ids.isEmpty(),
                status.shadowBanned,
                status.repeated,
                ids));
    }

    /** @param other null if the request can never pass */
    public Decision withRetryAfterMs(Long other) {
        return withTiming(new Timing(timing.decidedAtMs, other, timing.delayMs, timing.reservedUntilMs));
    }

    /** @param other null if there is no reservation, or if it has ended */
    public Decision withReservedUntilMs(Long other) {
        return withTiming(new Timing(timing.decidedAtMs, timing.retryAfterMs, timing.delayMs, other));
    }

    private Decision withTiming(Timing other) {
        return new Decision(identity, status, other, explanation, queueing, context);
    }

    /** @param limit null if nothing is limited */
    public Decision withLimit(PolicyVersion of, LimitStatus limit) {
        return withExplanation(new Explanation(of, limit, explanation.limits));
    }

    /** Returns this decision with other limits that are enforced. */
    public Decision withLimits(List<EnforcedLimit> limits) {
        return withExplanation(new Explanation(explanation.policy, explanation.bindingLimit, limits));
    }

    private Decision withExplanation(Explanation other) {
        return new Decision(identity, status, timing, other, queueing, context);
    }

    public Decision withQueueing(Queueing other) {
        return new Decision(identity, status, timing, explanation, other, context);
    }

    /** Returns this decision with another context. */
    public Decision withContext(DecisionContext other) {
        return new Decision(identity, status, timing, explanation, queueing, other);
    }

    /** Returns this decision as the answer to a repeat of the request that was read at {@code repeat}. */
    public Decision asRepeated(Request.Source repeat) {
        Identity repeated = new Identity(identity.requestId, identity.client, identity.tier, repeat);
        return new Decision(repeated, status.asRepeated(), timing, explanation, queueing, context);
    }

    /** Returns whether this decision ends a wait, that is, whether a QUEUED decision of the request preceded it. */
    public boolean endsWait() {
        return outcome() == Outcome.EXPIRED
                || (queueing != null // not one that waited for a lease
                        && outcome() == Outcome.DENIED
                        && (reason() == Reason.EVICTED
                                || reason() == Reason.CANCELLED
                                || reason() == Reason.PURGED
                                || reason() == Reason.ATTEMPTS_EXHAUSTED
                                || reason() == Reason.FAILED));
    }

    /** Returns the policy of the binding limit; null if no policy matches. */
    public PolicyVersion policy() {
        return explanation.policy;
    }

    /** Returns the binding limit; null if nothing is limited. */
    public LimitStatus bindingLimit() {
        return explanation.bindingLimit;
    }

    /** Returns the limits that are enforced. */
    public List<EnforcedLimit> limits() {
        return explanation.limits;
    }

    public String requestId() {
        return identity.requestId;
    }

    public String client() {
        return identity.client;
    }

    /** Returns the tier of the request; null if it has none. */
    public String tier() {
        return identity.tier;
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

    /** Returns {@link Status#observedBy}. */
    public List<String> observedBy() {
        return status.observedBy;
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

    /** Returns the retry time; null if the request can never pass. */
    public Long retryAfterMs() {
        return timing.retryAfterMs;
    }

    /** Returns the delay; null if the policies do not throttle. */
    public Long delayMs() {
        return timing.delayMs;
    }

    /** Returns {@link Timing#reservedUntilMs}; null if there is no reservation, or if it has ended. */
    public Long reservedUntilMs() {
        return timing.reservedUntilMs;
    }

    /** Returns the id of the policy; null if no policy matches. */
    public String policyId() {
        return policy() == null ? null : policy().id();
    }

    /** Returns the version of the policy; null if no policy matches. */
    public Long policyVersion() {
        return policy() == null ? null : (Long) policy().version();
    }

    /** Returns the label of the binding limit; null if nothing is limited. */
    public String limitedBy() {
        return bindingLimit() == null ? null : bindingLimit().label();
    }

    /** Returns {@link LimitStatus#limit}; null if nothing is limited. */
    public Long limit() {
        return bindingLimit() == null ? null : bindingLimit().limit();
    }

    /** Returns {@link LimitStatus#windowMs}; null if nothing is limited. */
    public Long windowMs() {
        return bindingLimit() == null ? null : bindingLimit().windowMs();
    }

    /** Returns {@link LimitStatus#remaining}; null if nothing is limited. */
    public Long remaining() {
        return bindingLimit() == null ? null : bindingLimit().remaining();
    }

    /** Returns {@link LimitStatus#resetAfterMs}; null if nothing is limited. */
    public Long resetAfterMs() {
        return bindingLimit() == null ? null : bindingLimit().resetAfterMs();
    }
}
