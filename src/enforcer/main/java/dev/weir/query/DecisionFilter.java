package dev.weir.query;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import java.util.Set;

/**
 * Selects decisions. Each condition is a set of the values that pass; an empty set passes all.
 *
 * @param outcomes the outcomes
 * @param policies the ids of the policies of the binding limit
 * @param reasons the reasons
 * @param tiers the tiers of the requests
 */
public record DecisionFilter(Set<Outcome> outcomes, Set<String> policies, Set<Reason> reasons, Set<String> tiers) {

    /** Passes all decisions. */
    public static final DecisionFilter ALL = new DecisionFilter(Set.of(), Set.of(), Set.of(), Set.of());

    public DecisionFilter {
        outcomes = Set.copyOf(outcomes);
        policies = Set.copyOf(policies);
        reasons = Set.copyOf(reasons);
        tiers = Set.copyOf(tiers);
    }

    /** Returns whether a decision passes. */
    public boolean passes(Decision decision) {
        return passes(outcomes, decision.outcome())
                && passes(policies, decision.policyId())
                && passes(reasons, decision.reason())
                && passes(tiers, decision.tier());
    }

    private static <T> boolean passes(Set<T> wanted, T value) {
        return wanted.isEmpty() || value != null && wanted.contains(value);
    }
}
