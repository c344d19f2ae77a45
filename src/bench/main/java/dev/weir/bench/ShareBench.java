package dev.weir.bench;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Decisions a second by a client's own limit, and by that and one that all clients share. */
public final class ShareBench {

    /** Which nobody reaches, and is lent, whatever its key. */
    private static final String SHARED =
            "{id: all, layer: all, key: [%s], lease: client, limits: [{algorithm: %s, limit: 1000000000, per: 1m}]}";

    private final RunPlan effort;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * What is to be measured.
     *
     * @param kafka what all candidates are given beyond {@code weir run}'s defaults
     * @param progress is told what was measured
     */
    public ShareBench(RunPlan effort, Map<String, String> kafka, Consumer<String> progress) {
        this.effort = effort;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    /**
     * Measures both.
     *
     * @param clients of whom the k-th asks in proportion to 1/k
     * @param key the fields by which the shared limit counts; none: all requests together
     */
    public ResultTable run(String algorithm, long clients, List<String> key) throws Exception {
        String own = DecideBench.policyYaml(algorithm);
        String both = own.replace("}]}]", "}]}, " + SHARED.formatted(String.join(", ", key), algorithm) + "]");
        Map<String, BenchCluster.Workload> workloads = new HashMap<>();
        List<Candidate> lanes = new ArrayList<>();
        try (BenchCluster rig = new BenchCluster();
                BenchCluster.Workload ofOwn = rig.workload(own, kafka);
                BenchCluster.Workload ofBoth = rig.workload(both, kafka)) {
            long hotBytes = ofOwn.config().state().hotMemoryBytes();
            try {
                lanes.add(new Candidate(
                        "own", Candidate.CandidateKind.DECIDE, ofOwn.config("own", hotBytes), DecideBench.JVM));
                lanes.add(new Candidate(
                        "own and shared",
                        Candidate.CandidateKind.SHARE,
                        ofBoth.config("both", hotBytes),
                        DecideBench.JVM));
                workloads.put("own", ofOwn);
                workloads.put("own and shared", ofBoth);
                return run(algorithm, clients, key, workloads, lanes);
            } finally {
                lanes.forEach(Candidate::close);
            }
        }
    }

    private ResultTable run(
            String algorithm,
            long clients,
            List<String> key,
            Map<String, BenchCluster.Workload> workloads,
            List<Candidate> lanes)
            throws Exception {
        TimeSlices slices = new TimeSlices(effort, DecideBench.FIRST_GUESS, progress);
        List<LongUnaryOperator> who = List.of(DecideBench.zipf(clients, 1), DecideBench.zipf(clients, 2));
        for (Candidate lane : lanes) {
            workloads.get(lane.name()).ensureRequests(effort.warmUp() * 3 / 2, who);
            slices.warmUp(lane, effort.warmUp());
        }
        List<CandidateSeries> series = slices.measure(
                lanes, (lane, requests) -> workloads.get(lane.name()).ensureRequests(requests, who));
        List<String> notes =
                List.of("%,d clients, by Zipf's law; the second limit counts %s; what lends it is in the same process"
                        .formatted(
                                clients, key.isEmpty() ? "all of them together" : "by " + String.join(" and ", key)));
        return ResultTable.of("share", algorithm, "requests/s", series, notes);
    }
}
