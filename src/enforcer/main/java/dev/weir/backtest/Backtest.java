package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.Outlet;
import dev.weir.shape.Shaper;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.wire.DecisionJson;
import dev.weir.wire.NdjsonLines;
import dev.weir.wire.ReleaseJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Clock;
import java.util.Map;
import java.util.TreeMap;

/**
 * Decides requests from a file with no broker: the same decisions, by the same code, as the topology takes for the same
 * requests in the same order. Queues drain by a virtual clock that follows the requests' times, and are let run dry
 * behind the last one; each release is written at its own time, without look-ahead.
 */
public final class Backtest {

    private static final long NANOS_PER_MS = 1_000_000;
    private static final int STEPS_A_TICK = 1_000;

    /** What a state, and a key of a queue, take on the heap, roughly. */
    private static final long STATE_BYTES = 600;

    private static final long KEY_BYTES = 3_000;

    private final PolicyTable policies;
    private final Map<String, QueueRules> queues = new TreeMap<>();
    private final WeirConfig config;
    private final Clock clock;
    private final BacktestBudget budget; // null: there is none

    /** Requests in their order. */
    public interface Requests {

        /** The next one, null at the end. */
        Request next() throws IOException;
    }

    /** @param clock the time of requests that have none */
    public Backtest(PolicyFile.Contents rules, WeirConfig config, Clock clock) {
        this(rules.table(), rules.queueRules(), config, clock, null);
    }

    /**
     * For requests that all have their times.
     *
     * @param budget null for as much as it takes
     */
    Backtest(PolicyTable policies, Map<String, QueueRules> queues, WeirConfig config, BacktestBudget budget) {
        this(policies, queues, config, Clock.systemUTC(), budget);
    }

    private Backtest(
            PolicyTable policies,
            Map<String, QueueRules> queues,
            WeirConfig config,
            Clock clock,
            BacktestBudget budget) {
        this.budget = budget;
        this.policies = policies;
        this.config = config;
        this.clock = clock;
        queues.forEach((id, queue) -> this.queues.put(id, queue.withLookAheadMs(0)));
    }

    /**
     * Decides all requests of a file in their order.
     *
     * @param decisions where the decisions go, null for nowhere
     * @param releases where the releases go, null for nowhere
     * @throws BadRequestException at the first line that is no request; what came before is decided and written
     */
    public DecisionStats run(NdjsonLines requests, DecisionJson decisions, ReleaseJson releases) throws IOException {
        return run(new Lines(requests), decisions, releases);
    }

    /** Decides all requests in their order, which are known to keep the rules. */
    public DecisionStats run(Requests requests, DecisionJson decisions, ReleaseJson releases) throws IOException {
        HeapStates states = new HeapStates(config.state());
        Decider decider = Decider.local(states);
        Run run = new Run(decisions, releases, states);
        try {
            for (Request request = requests.next(); request != null; request = requests.next()) {
                run.check();
                states.observe(request.timestampMs());
                run.advanceTo(request.timestampMs());
                DecisionResult ruling = decider.decide(request, policies);
                if (ruling instanceof Admission admission) {
                    run.admit(admission);
                } else {
                    run.emitDecision(request, (Decision) ruling);
                }
            }
            run.drain();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return run.stats;
    }

    /** Requests as lines, each held against the rules. */
    private final class Lines implements Requests {
        private final NdjsonLines lines;
        private long offset;

        Lines(NdjsonLines lines) {
            this.lines = lines;
        }

        @Override
        public Request next() throws IOException {
            String line = lines.next();
            return line == null ? null : BadRequestException.read(line, lines, config, clock.millis(), offset++);
        }
    }

    /** The queues on their clock, and where it all goes. */
    private final class Run implements Outlet {
        final DecisionStats stats = new DecisionStats();
        private final DecisionJson decisions;
        private final ReleaseJson releases;
        private final DecisionContext context = new DecisionContext(null, policies.checksum());
        private final Shaper shaper =
                new Shaper(queues::get, new HeapQueues(config.state()), this, HeapQueues.HOT_KEYS);
        private long nowMs;
        private long admitted;

        private final HeapStates states;

        Run(DecisionJson decisions, ReleaseJson releases, HeapStates states) {
            this.decisions = decisions;
            this.releases = releases;
            this.states = states;
        }

        private void check() {
            if (budget != null) {
                budget.check(STATE_BYTES * states.size() + KEY_BYTES * shaper.hotKeys());
            }
        }

        private void tick() {
            check();
            shaper.tick(shaper.dueNanos(), STEPS_A_TICK);
        }

        /** What falls due before a time happens before it; what falls due then, after the requests of that time. */
        void advanceTo(long timestampMs) {
            nowMs = Math.max(nowMs, Math.min(timestampMs, Shaper.MAX_TIME_MS));
            while (shaper.dueNanos() < nowMs * NANOS_PER_MS) {
                tick();
            }
        }

        /** @throws IllegalStateException if that takes until the year 2200 */
        void drain() {
            while (shaper.hasWaiting()) {
                if (shaper.dueNanos() > Shaper.MAX_TIME_MS * NANOS_PER_MS) {
                    throw new IllegalStateException("the queues would drain beyond the year 2200");
                }
                tick();
            }
        }

        void admit(Admission admission) {
            Admission keyed = QueueRules.withKey(admission, queues.get(admission.queue()));
            shaper.admit(keyed, admitted++, nowMs, nowMs * NANOS_PER_MS);
        }

        @Override
        public void emitDecision(Admission of, Decision decision) {
            emitDecision(of.request(), decision);
        }

        void emitDecision(Request request, Decision decision) {
            stats.add(request.tier(), decision);
            if (decisions != null) {
                try {
                    decisions.write(decision.withContext(context));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }

        @Override
        public void emitRelease(Admission of, Release release) {
            stats.add(release);
            if (releases != null) {
                try {
                    releases.write(release);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }
}
