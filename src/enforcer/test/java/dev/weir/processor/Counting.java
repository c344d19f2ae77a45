package dev.weir.processor;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.metrics.EnforcerMetrics;

/** Updates metrics like a task, for tests in other packages. */
public final class Counting {

    private Counting() {}

    /** Counts a decision by one policy. */
    public static void decide(EnforcerMetrics metrics, String client, String policy, Outcome outcome) {
        Reason reason = outcome == Outcome.DENIED ? Reason.LIMIT_EXCEEDED : Reason.WITHIN_LIMITS;
        metrics.decided(new Decision(
                        new Decision.Identity("r", client, new Request.Source(0, 0)),
                        new Decision.Status(outcome, reason, 200),
                        Decision.Timing.never(0))
                .withLimit(new PolicyVersion(policy, 1), null));
        evaluate(metrics, policy, outcome);
    }

    /** Counts the result of one of the policies that were evaluated for a request. */
    public static void evaluate(EnforcerMetrics metrics, String policy, Outcome result) {
        metrics.evaluated(policy, result);
    }
}
