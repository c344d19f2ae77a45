package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonLines;
import dev.weir.wire.json.ReleaseJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Decides requests from a file without a broker, with the code of the topology: the same requests in the same order get
 * the same decisions. Queues drain by a virtual clock that follows the times of the requests, and are emptied after the
 * last one. Each release is written at its own time, without look-ahead.
 *
 * <p>A backtest has no workers. Each release of a queue with {@code max-in-flight} is completed at once, so slots delay
 * nothing, and the COMPLETE and EXTEND requests among the requests, which name attempts of other runs, are ignored.
 */
public final class Backtest {

    private static final long NANOS_PER_MS = 1_000_000;
    private static final int STEPS_A_TICK = 100;

    /** The approximate heap sizes of a state, and of a key of a queue. */
    private static final long STATE_BYTES = 600;

    private static final long KEY_BYTES = 3_000;

    private final PolicyTable policies;
    private final Map<String, QueueRules> queues = new TreeMap<>();
    private final WeirConfig config;
    private final Clock clock;
    private final BacktestBudget budget; // null if there is no budget

    /** Requests in order. */
    public interface Requests {

        /** Returns the next request; null at the end. */
        Request next() throws IOException;
    }

    /** @param clock supplies the time of requests without a timestamp */
    public Backtest(PolicyFile.Contents rules, WeirConfig config, Clock clock) {
        this(rules.table(), rules.queueRules(), config, clock, null);
    }

    /**
     * Creates a backtest of requests that all have a timestamp.
     *
     * @param budget null if there is no budget
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
        queues.forEach((id, queue) ->
                this.queues.put(id, queue.toBuilder().lookAheadMs(0).build()));
    }

    /**
     * Decides all requests of a file in order.
     *
     * @param decisions receives the decisions; may be null
     * @param releases receives the releases; may be null
     * @throws BadRequestException at the first invalid line; the requests before it have been decided and written
     */
    public DecisionStats run(NdjsonLines requests, DecisionJson decisions, ReleaseJson releases) throws IOException {
        return run(new Lines(requests), decisions, releases);
    }

    /** Decides all requests in order. They must be valid. */
    public DecisionStats run(Requests requests, DecisionJson decisions, ReleaseJson releases) throws IOException {
        HeapStates states = new HeapStates(config.state());
        Run run = new Run(decisions, releases, states);
        Decider decider = run.decider;
        try {
            for (Request request = requests.next(); request != null; request = requests.next()) {
                if (request.kind().isAcknowledgement()) {
                    continue;
                }
                run.check();
                states.observe(request.timestampMs());
                run.advanceTo(request.timestampMs());
                DecisionResult result = decider.decide(request, policies);
                if (result instanceof Admission admission) {
                    run.admit(admission);
                } else {
                    run.emitDecision(request, (Decision) result);
                }
            }
            run.drain();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return run.stats;
    }

    /** Requests as lines, which are validated. */
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

    /** The state of one run: the queues, their clock and the output. */
    private final class Run {
        final DecisionStats stats = new DecisionStats();
        private final DecisionJson decisions;
        private final ReleaseJson releases;
        private final DecisionContext context = new DecisionContext(null, policies.checksum());
        private final Shaper shaper = new Shaper(queues::get, new HeapQueues(config.state()), HeapQueues.HOT_KEYS);
        private long nowMs;
        private long admitted;

        private final HeapStates states;
        private final Decider decider;

        Run(DecisionJson decisions, ReleaseJson releases, HeapStates states) {
            this.decisions = decisions;
            this.releases = releases;
            this.states = states;
            this.decider = new Decider(states, QuotaSource.local(), stats);
        }

        private void check() {
            if (budget != null) {
                budget.check(STATE_BYTES * states.size() + KEY_BYTES * shaper.hotKeys());
            }
        }

        private void tick() {
            check();
            carryOut(shaper.tick(shaper.dueNanos(), STEPS_A_TICK));
        }

        /** Releases what is due before a time. What is due at that time is released after the requests of that time. */
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
                    throw new IllegalStateException("the queues would not drain before the year 2200");
                }
                tick();
            }
        }

        void admit(Admission admission) {
            Admission keyed = QueueRules.withKey(admission, queues.get(admission.queue()));
            carryOut(shaper.admit(keyed, admitted++, nowMs, nowMs * NANOS_PER_MS));
        }

        private void carryOut(List<QueueEffect> effects) {
            for (QueueEffect effect : effects) {
                if (effect instanceof QueueEffect.Decided decided
                        && !decided.admission().request().kind().isAcknowledgement()) {
                    emitDecision(decided.admission().request(), decided.decision());
                    cancelReservation(decided.admission(), decided.decision());
                } else if (effect instanceof QueueEffect.Released released) {
                    emitRelease(released.release());
                    complete(released.release());
                }
            }
        }

        /** Completes the attempt of a release, if there is one. */
        private void complete(Release release) {
            Release.Attempt attempt = release.attempt();
            if (attempt != null) {
                Request done = Request.builder(release.requestId(), release.client())
                        .kind(RequestKind.COMPLETE)
                        .acknowledgement(
                                new Acknowledgement(attempt.receipt(), Acknowledgement.Result.DONE, null, null))
                        .build();
                long atNanos = release.releaseAtNanos();
                carryOut(shaper.admit(Admission.acknowledgement(done), admitted++, atNanos / NANOS_PER_MS, atNanos));
            }
        }

        private void cancelReservation(Admission admission, Decision decision) {
            if (admission.isReservationEndedBy(decision)) {
                Request request = admission.request();
                decider.cancelQueued(
                        request.client(),
                        request.requestId(),
                        admission.identity().reservation(),
                        policies);
            }
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

        private void emitRelease(Release release) {
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
