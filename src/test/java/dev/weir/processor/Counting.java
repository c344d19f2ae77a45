package dev.weir.processor;

import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.PolicyVersion;
import dev.weir.policy.Reason;
import dev.weir.policy.Request;

/** Counts as tasks do, for tests elsewhere. */
public final class Counting {

    private Counting() {}

    public static void decide(LiveCounts counts, String client, String policy, Outcome outcome) {
        Reason reason = outcome == Outcome.DENIED ? Reason.LIMIT_EXCEEDED : Reason.WITHIN_LIMITS;
        counts.decided(new Decision(
                        new Decision.Identity("r", client, new Request.Source(0, 0)),
                        new Decision.Status(outcome, reason, 200),
                        Decision.Timing.never(0))
                .withLimit(new PolicyVersion(policy, 1), null));
    }
}
