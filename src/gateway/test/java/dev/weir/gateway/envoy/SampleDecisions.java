package dev.weir.gateway.envoy;

import dev.weir.client.ClientDecision;
import dev.weir.client.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import java.util.Optional;

/** Decisions as a client returns them. */
final class SampleDecisions {

    private static final long NOW_MS = 1_700_000_000_000L;

    private SampleDecisions() {}

    static ClientDecision of(Decision decision) {
        return new ClientDecision(decision.outcome() == Outcome.ALLOWED, Optional.of(decision), Optional.empty());
    }

    static ClientDecision fallback(boolean allowed, NoDecisionReason reason) {
        return new ClientDecision(allowed, Optional.empty(), Optional.of(reason));
    }

    /** Returns a decision without policy and limit. */
    static Decision decision(Outcome outcome, Reason reason, int httpStatus) {
        return new Decision(
                new Decision.Identity("r", "c", Request.Source.NONE),
                new Decision.Status(outcome, reason, httpStatus),
                new Decision.Timing(NOW_MS, outcome == Outcome.ALLOWED ? 0L : (Long) 1_500L, null));
    }

    static Decision allowed(String policy, LimitStatus limit) {
        return decision(Outcome.ALLOWED, Reason.WITHIN_LIMITS, 200).withLimit(new PolicyVersion(policy, 3), limit);
    }

    static Decision denied(String policy, LimitStatus limit) {
        return decision(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429).withLimit(new PolicyVersion(policy, 3), limit);
    }

    /** Returns the status of a limit of 10 a minute. */
    static LimitStatus tenAMinute(long remaining) {
        return new LimitStatus("gcra 10/1m", 10L, 60_000L, remaining, 30_250L);
    }
}
