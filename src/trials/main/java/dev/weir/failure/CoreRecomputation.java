package dev.weir.failure;

import dev.weir.backtest.Backtest;
import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.policy.PolicyTable;

/** What is to be decided on the requests of one partition, in their order: as {@link Backtest} does, without a file. */
public final class CoreRecomputation {

    private final PolicyTable policies;
    private final HeapStates states;

    public CoreRecomputation(PolicyTable policies, WeirConfig.State config) {
        this.policies = policies;
        states = new HeapStates(config);
    }

    /** What is ruled on the next request. */
    public DecisionResult decide(Request request) {
        states.observe(request.timestampMs());
        return Decider.local(states).decide(request, policies);
    }
}
