package dev.weir.bench.candidate;

import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.Rounds;
import dev.weir.bench.measure.RunPlan;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** Runs candidates in turns, so that other load on the machine affects all of them. */
public final class TimeSlices {

    /**
     * The most time before a measurement in which a resumed candidate processes records fetched before its pause. A
     * shorter measurement, as tests have, takes as long as it measures.
     */
    private static final long MAX_SETTLE_MS = 700;

    private final RunPlan plan;
    private final Consumer<String> progress;
    private final long turnMs;
    private final long settleMs;
    private long supplyAhead;

    /**
     * A source of requests that ensures that a candidate has a number of requests in total, including those that it has
     * processed.
     */
    public interface RequestSupply {
        void ensureRequests(Candidate candidate, long requests) throws Exception;
    }

    /**
     * Creates a benchmark.
     *
     * @param firstGuess an estimate of the records per second of the fastest candidate
     * @param progress receives a line for each measurement
     */
    public TimeSlices(RunPlan plan, long firstGuess, Consumer<String> progress) {
        this.plan = plan;
        this.progress = progress;
        this.turnMs = plan.turn().toMillis();
        this.settleMs = Math.min(MAX_SETTLE_MS, turnMs);
        this.supplyAhead = firstGuess * turnMs / 1_000;
    }

    /** Runs a candidate until it has processed a number of requests, which must exist. */
    public void warmUp(Candidate candidate, long requests) throws IOException, InterruptedException {
        long from = candidate.count().records();
        candidate.resume();
        while (candidate.count().records() - from < requests) {
            Thread.sleep(50);
        }
        candidate.pause();
        progress.accept("%s: warmed up".formatted(candidate.name()));
    }

    /** Measures each candidate in each round. */
    public List<CandidateSeries> measure(List<Candidate> candidates, RequestSupply supply) throws Exception {
        return Rounds.run(
                candidates.stream()
                        .map(candidate -> participant(candidate, supply))
                        .toList(),
                plan.rounds(),
                progress);
    }

    /** Returns a candidate for rounds with participants of other kinds. */
    public Rounds.Participant participant(Candidate candidate, RequestSupply supply) {
        return new Rounds.Participant(candidate.name(), () -> measureSlice(candidate, supply));
    }

    /**
     * Returns the records per second of a candidate in a time slice, which lasts until it has processed some. Repeats
     * the slice if requests ran out in it.
     */
    private double measureSlice(Candidate candidate, RequestSupply supply) throws Exception {
        while (true) {
            long reached = candidate.count().records() + supplyAhead;
            supply.ensureRequests(candidate, reached);
            candidate.resume();
            Thread.sleep(settleMs);
            Candidate.RecordCount from = candidate.count();
            Candidate.RecordCount to;
            do {
                Thread.sleep(turnMs);
                to = candidate.count();
            } while (to.records() == from.records() && to.records() < reached);
            candidate.pause();
            double perSecond = to.perSecondSince(from);
            double wanted = perSecond * (turnMs + 3 * settleMs) / 1e3;
            if (wanted <= supplyAhead && to.records() < reached) {
                return perSecond;
            }
            supplyAhead = 2 * Math.max(supplyAhead, (long) wanted);
        }
    }
}
