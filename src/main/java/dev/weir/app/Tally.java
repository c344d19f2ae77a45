package dev.weir.app;

import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Counts decisions: in all, by policy, by tier, and the clients that were denied most. */
public final class Tally {

    /** How requests that no policy matches, or that have no tier, are counted. */
    public static final String NONE = "(none)";

    /** How tiers are counted once there are too many: a tier is what a producer writes. */
    public static final String OTHER = "(other)";

    private static final int MAX_TIERS = 100;
    private static final int MAX_CLIENTS = 10_000;

    private final Counts all = new Counts();
    private final Map<String, Counts> byPolicy = new TreeMap<>();
    private final Map<String, Counts> byTier = new TreeMap<>();
    private final HeavyHitters limited = new HeavyHitters(MAX_CLIENTS);

    /** How many were allowed, denied, and allowed though a policy that observes would have denied them. */
    public static final class Counts {
        private long allowed;
        private long denied;
        private long observed;

        public long requests() {
            return allowed + denied;
        }

        public long allowed() {
            return allowed;
        }

        public long denied() {
            return denied;
        }

        public long observed() {
            return observed;
        }

        private void add(Decision decision) {
            boolean isDenied = decision.outcome() == Outcome.DENIED;
            denied += isDenied ? 1 : 0;
            allowed += isDenied ? 0 : 1;
            observed += decision.observed() ? 1 : 0;
        }
    }

    /** @param tier of the request, null if it has none */
    public void add(String tier, Decision decision) {
        String policy = decision.policyId() == null ? NONE : decision.policyId();
        String plan = tier == null ? NONE : tier;
        boolean countable = byTier.containsKey(plan) || byTier.size() < MAX_TIERS;
        all.add(decision);
        byPolicy.computeIfAbsent(policy, p -> new Counts()).add(decision);
        byTier.computeIfAbsent(countable ? plan : OTHER, t -> new Counts()).add(decision);
        if (decision.outcome() == Outcome.DENIED) {
            limited.add(decision.client());
        }
    }

    public Counts all() {
        return all;
    }

    /** By the policy that the decision names. */
    public Map<String, Counts> byPolicy() {
        return byPolicy;
    }

    public Map<String, Counts> byTier() {
        return byTier;
    }

    /** The clients that were denied most. */
    public List<HeavyHitters.Hitter> topLimited(int most) {
        return limited.top(most);
    }
}
