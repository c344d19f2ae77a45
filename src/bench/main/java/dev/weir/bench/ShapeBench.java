package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.BenchQueues;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.candidate.TimeSlices;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.RunPlan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Measures releases per second of few and of many queues, and how exactly queues keep their rates. */
public final class ShapeBench {

    /** An estimate of the releases per second of the fastest candidate. */
    private static final long FIRST_GUESS = 60_000;

    private final RunPlan plan;
    private final Duration pacing;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;
    private final TimeSlices slices;

    /**
     * Creates a benchmark.
     *
     * @param plan the rounds; its warm-up is a number of releases
     * @param pacing how long the pace of queues is measured
     * @param kafka Kafka settings of all candidates that override those of {@code weir run}
     * @param progress receives a line for each measurement
     */
    public ShapeBench(RunPlan plan, Duration pacing, Map<String, String> kafka, Consumer<String> progress) {
        this.plan = plan;
        this.pacing = pacing;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
        this.slices = new TimeSlices(plan, FIRST_GUESS, progress);
    }

    /**
     * Measures releases as fast as possible, and then at steady rates.
     *
     * @param counts the number of queues of each candidate
     */
    public List<ResultTable> run(List<Integer> counts) throws Exception {
        try (BenchCluster cluster = new BenchCluster()) {
            List<BenchCluster.Workload> workloads = new ArrayList<>();
            Map<Candidate, ShapingCandidate> candidates = new LinkedHashMap<>();
            try {
                for (int count : counts) {
                    BenchQueues queues = new BenchQueues(count);
                    BenchCluster.Workload workload = cluster.workload(queues.stoppedRules(), kafka);
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
        long slice = FIRST_GUESS * plan.turn().toMillis() / 1_000;
        for (ShapingCandidate candidate : candidates.values()) {
            candidate.ensureRequests(plan.warmUp() + slice * plan.rounds());
            slices.warmUp(
                    candidate.candidate(),
                    plan.warmUp() - candidate.candidate().count().records());
        }
        List<CandidateSeries> series = slices.measure(
                List.copyOf(candidates.keySet()),
                (candidate, requests) -> candidates.get(candidate).ensureRequests(requests));
        return ResultTable.of(
                "shape",
                "as fast as possible",
                "releases/s",
                series,
                List.of("ten clients in each queue; all requests are queued before; one process, one thread"));
    }

    private ResultTable pacing(Iterable<ShapingCandidate> candidates) throws Exception {
        List<ResultTable.Row> rows = new ArrayList<>();
        for (ShapingCandidate candidate : candidates) {
            rows.addAll(candidate.pacing(pacing));
            progress.accept("%s: paced".formatted(candidate.candidate().name()));
        }
        String dues = "early or late by the queue's rate, counted from its last release before the measured time";
        return new ResultTable("shape", "at steady rates", ShapingCandidate.PACING_COLUMNS, rows, List.of(dues));
    }
}
