package dev.weir.backtest;

import dev.weir.decision.EvaluationListener;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.metrics.HeavyHitters;
import dev.weir.policy.Policy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Counts decisions in all, by policy and by tier, and the clients with the most denials. */
public final class DecisionStats implements EvaluationListener {

    /** The name under which requests without a matching policy, or without a tier, are counted. */
    public static final String NONE = "(none)";

    /** The name under which further tiers are counted once there are too many. Producers may write any tier. */
    public static final String OTHER = "(other)";

    private static final int MAX_TIERS = 100;
    private static final int MAX_CLIENTS = 10_000;

    private final Counts all = new Counts();
    private final Map<String, Counts> byPolicy = new TreeMap<>();
    private final Map<String, Counts> byTier = new TreeMap<>();
    private final HeavyHitters<String> limited = new HeavyHitters<>(MAX_CLIENTS);

    private final Set<String> shared = new TreeSet<>();
    private final Map<String, QueueStats> byQueue = new TreeMap<>();

    /**
     * The numbers of allowed, queued and denied requests. Of these, the numbers of requests that were delayed, and that
     * were repeats. Then the number of requests that an observing policy would have denied; by policy, these count for the
     * observing policy only.
     */
    public static final class Counts {
        private long allowed;
        private long queued;
        private long denied;
        private long observed;
        private long throttled;
        private long repeated;

        public long requests() {
            return allowed + queued + denied;
        }

        /** Returns the number of requests that entered a queue, whatever happened to them there. */
        public long queued() {
            return queued;
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

        /** Returns the number of requests that were allowed with a delay. */
        public long throttled() {
            return throttled;
        }

        public long repeated() {
            return repeated;
        }

        private void add(Decision decision) {
            allowed += decision.outcome() == Outcome.ALLOWED ? 1 : 0;
            queued += decision.outcome() == Outcome.QUEUED ? 1 : 0;
            denied += decision.outcome() == Outcome.DENIED ? 1 : 0;
            throttled += decision.delayMs() != null && decision.delayMs() > 0 ? 1 : 0;
            repeated += decision.repeated() ? 1 : 0;
        }
    }

    /** Records shared policies. */
    @Override
    public void evaluated(Policy policy, Outcome result) {
        if (policy.isShared()) {
            shared.add(policy.id());
        }
    }

    /** @param tier the tier of the request; null if it has none */
    public void add(String tier, Decision decision) {
        if (decision.outcome() == Outcome.DENIED) {
            limited.add(decision.client());
        }
        if (decision.queueing() != null && !isOfCancel(decision) && !decision.repeated()) {
            queue(decision.queueing().queue()).add(tier, decision);
        }
        if (decision.endsWait()) {
            return; // the request was counted when it entered the queue
        }
        String policy = decision.policyId() == null ? NONE : decision.policyId();
        Counts ofTier = byTier.computeIfAbsent(plan(tier, byTier), t -> new Counts());
        all.add(decision);
        byPolicy.computeIfAbsent(policy, p -> new Counts()).add(decision);
        ofTier.add(decision);
        if (decision.observed()) {
            all.observed++;
            ofTier.observed++;
        }
        for (String id : decision.observedBy()) {
            byPolicy.computeIfAbsent(id, p -> new Counts()).observed++;
        }
    }

    public void add(Release release) {
        queue(release.queue()).add(release);
    }

    public Counts all() {
        return all;
    }

    /** Returns the counts by the policy that the decision names and, of observed requests, by each observing policy. */
    public Map<String, Counts> byPolicy() {
        return byPolicy;
    }

    public Map<String, Counts> byTier() {
        return byTier;
    }

    /** Returns the counts by the queue to which requests were sent. */
    public Map<String, QueueStats> byQueue() {
        return byQueue;
    }

    /**
     * Returns the ids of the shared policies that were evaluated. A backtest counts their limits in one place, not by
     * leases, so its results are an approximation.
     */
    public Set<String> shared() {
        return Collections.unmodifiableSet(shared);
    }

    private QueueStats queue(String id) {
        return byQueue.computeIfAbsent(id, q -> new QueueStats());
    }

    /** Returns the name under which a tier is counted, given those that are already counted. */
    static String plan(String tier, Map<String, ?> counted) {
        String plan = tier == null ? NONE : tier;
        return counted.containsKey(plan) || counted.size() < MAX_TIERS ? plan : OTHER;
    }

    private static boolean isOfCancel(Decision decision) {
        return decision.policyId() == null;
    }

    /** Returns the clients with the most denials. */
    public List<HeavyHitters.Hitter<String>> topLimited(int most) {
        return limited.top(most);
    }
}
