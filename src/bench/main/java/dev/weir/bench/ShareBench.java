package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.candidate.TimeSlices;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.RunPlan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Measures decisions per second with one limit per client, and with an additional shared limit. */
public final class ShareBench {

    /** A limit that is not reached, and that is shared by leases whatever its key is. */
    private static final String SHARED =
            "{id: all, layer: all, key: [%s], lease: client, limits: [{algorithm: %s, limit: 1000000000, per: 1m}]}";

    private final RunPlan plan;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param kafka Kafka settings of all candidates that override those of {@code weir run}
     * @param progress receives a line for each measurement
     */
    public ShareBench(RunPlan plan, Map<String, String> kafka, Consumer<String> progress) {
        this.plan = plan;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    /**
     * Measures both candidates.
     *
     * @param clients the number of clients; the k-th sends a share of requests proportional to 1/k
     * @param key the key fields of the shared limit; empty for one limit for all requests
     */
    public ResultTable run(String algorithm, long clients, List<String> key) throws Exception {
        String own = DecideBench.policyYaml(algorithm);
        String both = own.replace("}]}]", "}]}, " + SHARED.formatted(String.join(", ", key), algorithm) + "]");
        Map<String, BenchCluster.Workload> workloads = new HashMap<>();
        List<Candidate> candidates = new ArrayList<>();
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload ofOwn = cluster.workload(own, kafka);
                BenchCluster.Workload ofBoth = cluster.workload(both, kafka)) {
            long hotBytes = ofOwn.config().state().hotMemoryBytes();
            try {
                candidates.add(new Candidate(
                        "own", Candidate.CandidateKind.DECIDE, ofOwn.config("own", hotBytes), DecideBench.JVM));
                candidates.add(new Candidate(
                        "own and shared",
                        Candidate.CandidateKind.SHARE,
                        ofBoth.config("both", hotBytes),
                        DecideBench.JVM));
                workloads.put("own", ofOwn);
                workloads.put("own and shared", ofBoth);
                return run(algorithm, clients, key, workloads, candidates);
            } finally {
                candidates.forEach(Candidate::close);
            }
        }
    }

    private ResultTable run(
            String algorithm,
            long clients,
            List<String> key,
            Map<String, BenchCluster.Workload> workloads,
            List<Candidate> candidates)
            throws Exception {
        TimeSlices slices = new TimeSlices(plan, DecideBench.FIRST_GUESS, progress);
        List<LongUnaryOperator> who = List.of(DecideBench.zipf(clients, 1), DecideBench.zipf(clients, 2));
        for (Candidate candidate : candidates) {
            workloads.get(candidate.name()).ensureRequests(plan.warmUp() * 3 / 2, who);
            slices.warmUp(candidate, plan.warmUp());
        }
        List<CandidateSeries> series = slices.measure(
                candidates,
                (candidate, requests) -> workloads.get(candidate.name()).ensureRequests(requests, who));
        List<String> notes = List.of(
                "%,d clients with a Zipf distribution; the second limit counts %s"
                        .formatted(
                                clients, key.isEmpty() ? "all requests together" : "by " + String.join(" and ", key)),
                "the ledger of the second limit runs in the same process");
        return ResultTable.of("share", algorithm, "requests/s", series, notes);
    }
}
