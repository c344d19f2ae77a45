package dev.weir.processor;

import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Reason;
import dev.weir.policy.Request;

/** Counts as tasks do, for tests elsewhere. */
public final class Counting {

    private Counting() {}

    public static void decide(LiveCounts counts, String client, String policy, Outcome outcome) {
        Reason reason = outcome == Outcome.DENIED ? Reason.LIMIT_EXCEEDED : Reason.WITHIN_LIMITS;
        counts.decided(new Decision(
                "r",
                client,
                outcome,
                reason,
                policy,
                1L,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                false,
                false,
                false,
                null,
                200,
                0,
                new Request.Source(0, 0)));
    }
}
