package dev.weir.decision;

import static dev.weir.decision.Samples.table;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.policy.Policy;

/** Tests of decisions by states in memory. */
abstract class LocalDecisions {

    final MapStates states = new MapStates();

    final Decision decide(Request request, Policy... policies) {
        return (Decision) Decider.local(states).decide(request, table(policies));
    }

    static void assertAllowed(Decision decision, String limitedBy, long remaining) {
        assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decision.limitedBy()).isEqualTo(limitedBy);
        assertThat(decision.remaining()).isEqualTo(remaining);
        assertThat(decision.retryAfterMs()).isZero();
        assertThat(decision.httpStatus()).isEqualTo(200);
    }

    static void assertDenied(Decision decision, String limitedBy, Long retryAfterMs) {
        assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decision.limitedBy()).isEqualTo(limitedBy);
        assertThat(decision.retryAfterMs()).isEqualTo(retryAfterMs);
        assertThat(decision.httpStatus()).isEqualTo(429);
    }
}
