package dev.weir.query;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DecisionFilterTest {

    private static final Decision DENIED =
            decision("gold", Outcome.DENIED, Reason.LIMIT_EXCEEDED).withLimit(new PolicyVersion("p", 1), null);

    private static final Decision UNMATCHED = decision(null, Outcome.ALLOWED, Reason.NO_POLICY);

    private static Decision decision(String tier, Outcome outcome, Reason reason) {
        return new Decision(
                new Decision.Identity("r", "c", tier, Request.Source.NONE),
                new Decision.Status(outcome, reason, 200),
                Decision.Timing.passed(1));
    }

    private static DecisionFilter filter(Set<Outcome> outcomes, Set<String> policies, Set<String> tiers) {
        return new DecisionFilter(outcomes, policies, Set.of(), tiers);
    }

    @Test
    void without_conditions_all_decisions_pass() {
        assertThat(DecisionFilter.ALL.passes(DENIED)).isTrue();
        assertThat(DecisionFilter.ALL.passes(UNMATCHED)).isTrue();
    }

    @Test
    void a_decision_must_meet_all_conditions_by_one_of_the_values_of_each() {
        Set<Outcome> outcomes = Set.of(Outcome.DENIED, Outcome.EXPIRED);
        assertThat(filter(outcomes, Set.of("p", "q"), Set.of("gold")).passes(DENIED))
                .isTrue();
        assertThat(filter(outcomes, Set.of("q"), Set.of("gold")).passes(DENIED)).isFalse();
        assertThat(filter(outcomes, Set.of("p"), Set.of("silver")).passes(DENIED))
                .isFalse();
        assertThat(filter(Set.of(Outcome.ALLOWED), Set.of("p"), Set.of()).passes(DENIED))
                .isFalse();
        assertThat(new DecisionFilter(Set.of(), Set.of(), Set.of(Reason.TOO_LARGE), Set.of()).passes(DENIED))
                .isFalse();
    }

    @Test
    void a_decision_without_a_policy_or_tier_passes_no_condition_on_it() {
        assertThat(filter(Set.of(), Set.of("p"), Set.of()).passes(UNMATCHED)).isFalse();
        assertThat(filter(Set.of(), Set.of(), Set.of("gold")).passes(UNMATCHED)).isFalse();
        assertThat(filter(Set.of(Outcome.ALLOWED), Set.of(), Set.of()).passes(UNMATCHED))
                .isTrue();
    }
}
