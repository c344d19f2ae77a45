package dev.weir.app;

import dev.weir.codec.DecisionJson;
import dev.weir.codec.NdjsonLines;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import java.io.IOException;
import java.time.Clock;

/**
 * Decides requests from a file with no broker: the same decisions, by the same code, as the topology takes for the same
 * requests in the same order.
 */
public final class Backtest {

    private final PolicyTable policies;
    private final WeirConfig config;
    private final Clock clock;

    /** @param clock the time of requests that have none */
    public Backtest(PolicyTable policies, WeirConfig config, Clock clock) {
        this.policies = policies;
        this.config = config;
        this.clock = clock;
    }

    /**
     * Decides all requests in their order.
     *
     * @param decisions where the decisions go, null for nowhere
     * @throws BadRequestException at the first line that is no request; what came before is decided and written
     */
    public Tally run(NdjsonLines requests, DecisionJson decisions) throws IOException {
        Tally tally = new Tally();
        MemoryStates states = new MemoryStates(config.state().forgetAfter().toMillis());
        long offset = 0;
        for (String line = requests.next(); line != null; line = requests.next()) {
            Request request = BadRequestException.read(line, requests, config, clock.millis(), offset++);
            states.observe(request.timestampMs());
            Decision decision = (Decision) Decider.decide(request, policies, states);
            tally.add(request.tier(), decision);
            if (decisions != null) {
                decisions.write(decision);
            }
        }
        return tally;
    }
}
