package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.policy.Decider;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;

/** What is to be decided on the requests of one partition, in their order: as {@link Backtest} does, without a file. */
public final class Recomputation {

    private final PolicyTable policies;
    private final MemoryStates states;

    public Recomputation(PolicyTable policies, WeirConfig.State config) {
        this.policies = policies;
        states = new MemoryStates(config);
    }

    /** What is ruled on the next request. */
    public Ruling decide(Request request) {
        states.observe(request.timestampMs());
        return Decider.local(states).decide(request, policies);
    }
}
