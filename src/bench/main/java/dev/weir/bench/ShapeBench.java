package dev.weir.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Releases a second of few queues and of many, and how well they keep their queues' rates. */
public final class ShapeBench {

    /** Releases a second. */
    private static final long FIRST_GUESS = 60_000;

    private final RunPlan effort;
    private final Duration pacing;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;
    private final TimeSlices slices;

    /**
     * What is to be measured.
     *
     * @param effort of which the requests that warm up are released
     * @param pacing how long steady queues are watched
     * @param kafka what all candidates are given beyond {@code weir run}'s defaults
     * @param progress is told what was measured
     */
    public ShapeBench(RunPlan effort, Duration pacing, Map<String, String> kafka, Consumer<String> progress) {
        this.effort = effort;
        this.pacing = pacing;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
        this.slices = new TimeSlices(effort, FIRST_GUESS, progress);
    }

    /**
     * Releases as fast as they go, and then at steady rates.
     *
     * @param counts how many queues there are, in each of the candidates
     */
    public List<ResultTable> run(List<Integer> counts) throws Exception {
        try (BenchCluster rig = new BenchCluster()) {
            List<BenchCluster.Workload> workloads = new ArrayList<>();
            Map<Candidate, ShapingCandidate> candidates = new LinkedHashMap<>();
            try {
                for (int count : counts) {
                    BenchQueues queues = new BenchQueues(count);
                    BenchCluster.Workload workload = rig.workload(queues.stoppedRules(), kafka);
                    workloads.add(workload);
                    ShapingCandidate candidate = new ShapingCandidate(queues, workload);
                    candidates.put(candidate.candidate(), candidate);
                }
                return List.of(rates(candidates), pacing(candidates.values()));
            } finally {
                candidates.values().forEach(ShapingCandidate::close);
                workloads.forEach(BenchCluster.Workload::close);
            }
        }
    }

    private ResultTable rates(Map<Candidate, ShapingCandidate> candidates) throws Exception {
        long slice = FIRST_GUESS * effort.turn().toMillis() / 1_000;
        for (ShapingCandidate candidate : candidates.values()) {
            candidate.ensureRequests(effort.warmUp() + slice * effort.rounds());
            slices.warmUp(
                    candidate.candidate(),
                    effort.warmUp() - candidate.candidate().count().records());
        }
        List<CandidateSeries> series = slices.measure(
                List.copyOf(candidates.keySet()),
                (lane, requests) -> candidates.get(lane).ensureRequests(requests));
        return ResultTable.of(
                "shape",
                "as fast as it goes",
                "releases/s",
                series,
                List.of(
                        "ten clients in each queue; all of it waits before, and is released in one process by one thread"));
    }

    private ResultTable pacing(Iterable<ShapingCandidate> candidates) throws Exception {
        List<ResultTable.Row> rows = new ArrayList<>();
        for (ShapingCandidate candidate : candidates) {
            rows.addAll(candidate.pacing(pacing));
            progress.accept("%s: paced".formatted(candidate.candidate().name()));
        }
        String dues =
                "how far from the time at which its queue's rate puts it, counted from the queue's last one before; early or late";
        return new ResultTable("shape", "at steady rates", ShapingCandidate.PACING_COLUMNS, rows, List.of(dues));
    }
}
