package dev.weir.testing;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import java.util.List;

/** Decisions of a limit of 10 a minute, and how a client returns them. */
public final class SampleDecisions {

    private static final long NOW_MS = 1_700_000_000_000L;
    private static final PolicyVersion POLICY = new PolicyVersion("p", 1);

    private SampleDecisions() {}

    /** Returns what a client returns for a decision. */
    public static ClientDecision of(Decision decision) {
        return ClientDecision.of(decision);
    }

    /** Returns what a client returns without a decision. */
    public static ClientDecision fallback(boolean allowed, NoDecisionReason reason) {
        return ClientDecision.fallback(allowed, reason);
    }

    /** Returns a decision with a limit that is the only one, and counts if it has a number that remains. */
    private static Decision limited(Decision decision, PolicyVersion policy, LimitStatus limit) {
        List<EnforcedLimit> limits = limit == null || limit.remaining() == null
                ? List.of()
                : List.of(new EnforcedLimit(
                        policy.id(),
                        1,
                        limit.limit(),
                        limit.windowMs(),
                        limit.remaining(),
                        limit.resetAfterMs(),
                        decision.retryAfterMs()));
        return decision.withLimit(policy, limit).withLimits(limits);
    }

    /** Returns a decision on no particular request, without policy and limit. */
    public static Decision decision(Outcome outcome, Reason reason, int httpStatus) {
        return new Decision(
                new Decision.Identity("r", "c", Request.Source.NONE),
                new Decision.Status(outcome, reason, httpStatus),
                new Decision.Timing(NOW_MS, outcome == Outcome.ALLOWED ? 0L : (Long) 1_500L, null));
    }

    public static Decision allowed(String policy, LimitStatus limit) {
        return limited(decision(Outcome.ALLOWED, Reason.WITHIN_LIMITS, 200), new PolicyVersion(policy, 3), limit);
    }

    public static Decision denied(String policy, LimitStatus limit) {
        return limited(decision(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429), new PolicyVersion(policy, 3), limit);
    }

    /** Returns the status of a limit of 10 a minute. */
    public static LimitStatus tenAMinute(long remaining) {
        return new LimitStatus("gcra 10/1m", 10L, 60_000L, remaining, 30_250L);
    }

    /** Returns the decision that a request is allowed by the policy {@code p}, with 9 of 10 remaining. */
    public static Decision allowed(Request request) {
        return limited(
                Decision.allowed(request, Reason.WITHIN_LIMITS, request.timestampMs()),
                POLICY,
                new LimitStatus("gcra", 10L, 60_000L, 9L, 6_000L));
    }

    /** Returns the decision that a request is allowed by the policy {@code p} after a delay. */
    public static Decision throttled(Request request, long delayMs) {
        return limited(
                new Decision(
                        Decision.Identity.of(request),
                        Decision.Status.allowed(Reason.THROTTLED),
                        new Decision.Timing(request.timestampMs(), 0L, delayMs)),
                POLICY,
                new LimitStatus("gcra", 10L, 60_000L, 0L, 60_000L));
    }

    /** Returns the decision that a request is denied by the policy {@code p} and can be retried after 19.2 s. */
    public static Decision denied(Request request) {
        return limited(
                Decision.denied(request, Reason.LIMIT_EXCEEDED, 429, request.timestampMs())
                        .withRetryAfterMs(19_200L),
                POLICY,
                new LimitStatus("gcra", 10L, 60_000L, 0L, 60_000L));
    }

    /** Returns a denial of which the client must not learn. */
    public static Decision shadowBanned(Request request) {
        return denied(request)
                .withStatus(new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 200, false, true, false));
    }
}
