package dev.weir.bench;

import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** Lets lanes work in turns, so that whatever else the machine does meets all of them. */
public final class TimeSlices {

    /** How long a lane that was told to work takes until it does, with what it had fetched before. */
    private static final long SETTLE_MS = 700;

    private final RunPlan effort;
    private final Consumer<String> progress;
    private long supplyAhead;

    /** Sees to it that there are so many requests for a lane, with those that it has done. */
    public interface RequestSupply {
        void ensureRequests(Candidate lane, long requests) throws Exception;
    }

    /**
     * What is to be measured.
     *
     * @param firstGuess what the fastest may do a second
     * @param progress is told what was measured
     */
    public TimeSlices(RunPlan effort, long firstGuess, Consumer<String> progress) {
        this.effort = effort;
        this.progress = progress;
        this.supplyAhead = firstGuess * effort.turn().toMillis() / 1_000;
    }

    /** Lets a lane work through so many requests, which are there. */
    public void warmUp(Candidate lane, long requests) throws IOException, InterruptedException {
        long from = lane.count().records();
        lane.resume();
        while (lane.count().records() - from < requests) {
            Thread.sleep(50);
        }
        lane.pause();
        progress.accept("%s: warm".formatted(lane.name()));
    }

    /** Measures each lane in each round. */
    List<CandidateSeries> measure(List<Candidate> lanes, RequestSupply supply) throws Exception {
        return Rounds.run(lanes.stream().map(lane -> participant(lane, supply)).toList(), effort.rounds(), progress);
    }

    /** A lane that is measured against candidates of other kinds. */
    public Rounds.Participant participant(Candidate lane, RequestSupply supply) {
        return new Rounds.Participant(lane.name(), () -> measureSlice(lane, supply));
    }

    /** What a lane does a second in a slice in which it never ran out of requests. */
    private double measureSlice(Candidate lane, RequestSupply supply) throws Exception {
        while (true) {
            long reached = lane.count().records() + supplyAhead;
            supply.ensureRequests(lane, reached);
            lane.resume();
            Thread.sleep(SETTLE_MS);
            Candidate.RecordCount from = lane.count();
            Thread.sleep(effort.turn().toMillis());
            Candidate.RecordCount to = lane.count();
            lane.pause();
            double perSecond = to.perSecondSince(from);
            double wanted = perSecond * (effort.turn().toMillis() + 3 * SETTLE_MS) / 1e3;
            if (wanted <= supplyAhead && to.records() < reached) {
                return perSecond;
            }
            supplyAhead = 2 * Math.max(supplyAhead, (long) wanted);
        }
    }
}
