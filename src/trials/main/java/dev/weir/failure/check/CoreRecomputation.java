package dev.weir.failure.check;

import dev.weir.backtest.Backtest;
import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.policy.PolicyTable;

/**
 * A recomputation of the decisions of one partition, as {@link Backtest} does it, for requests
 * that are passed one by one.
 */
public final class CoreRecomputation {

    private final PolicyTable policies;
    private final HeapStates states;

    public CoreRecomputation(PolicyTable policies, WeirConfig.State config) {
        this.policies = policies;
        states = new HeapStates(config);
    }

    /** Decides the next request. */
    public DecisionResult decide(Request request) {
        states.observe(request.timestampMs());
        return Decider.local(states).decide(request, policies);
    }
}
