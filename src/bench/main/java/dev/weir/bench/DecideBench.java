package dev.weir.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Decisions a second, against a topology that only passes requests through. */
public final class DecideBench {

    /**
     * What is decided.
     *
     * @param policies a policy file; each decision charges, since that costs most
     * @param clients of whom the k-th asks in proportion to 1/k
     * @param hasKnownClients whether all of them have asked before
     */
    public record DecideLoad(String name, String policies, long clients, boolean hasKnownClients) {}

    /** As the container image has it. */
    public static final List<String> JVM = List.of("-Xmx1g", "-XX:+UseParallelGC");

    /** Requests a second. */
    public static final long FIRST_GUESS = 400_000;

    /** Tokens that {@link #policyYaml} give a client. */
    public static final long LIMIT = 1_000_000;

    public static final long PER_MS = 60_000;

    private final Map<String, String> kafka;

    /** Each of them is a candidate. */
    private final List<Long> hotMemory;

    private final RunPlan effort;
    private final int threads;
    private final Consumer<String> progress;
    private final TimeSlices slices;

    /**
     * What is to be measured.
     *
     * @param threads that each candidate has
     * @param hotMemory how much heap the states of clients may have, in bytes, of each candidate
     * @param kafka what all candidates are given beyond {@code weir run}'s defaults
     * @param progress is told what was measured
     */
    public DecideBench(
            RunPlan effort, int threads, List<Long> hotMemory, Map<String, String> kafka, Consumer<String> progress) {
        this.effort = effort;
        this.threads = threads;
        this.hotMemory = List.copyOf(hotMemory);
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
        this.slices = new TimeSlices(effort, FIRST_GUESS, progress);
    }

    /** A policy file of one limit, by one algorithm, which nobody reaches. */
    public static String policyYaml(String algorithm) {
        return "policies: [{id: bench, limits: [{algorithm: %s, limit: %d, per: %dms}]}]"
                .formatted(algorithm, LIMIT, PER_MS);
    }

    public ResultTable run(DecideLoad load) throws Exception {
        try (BenchCluster rig = new BenchCluster();
                BenchCluster.Workload workload = rig.workload(load.policies, kafka)) {
            rig.createPassThroughTopic(workload.config());
            List<Candidate> lanes = new ArrayList<>();
            try {
                lanes.add(new Candidate(
                        "pass-through", Candidate.CandidateKind.PASS, workload.config("pass", threads, 0), JVM));
                for (long bytes : hotMemory) {
                    String name = hotMemory.size() == 1 ? load.name : load.name + ", hot-memory " + bytes;
                    lanes.add(new Candidate(
                            name,
                            Candidate.CandidateKind.DECIDE,
                            workload.config("decide-" + bytes, threads, bytes),
                            JVM));
                }
                return run(load, workload, lanes);
            } finally {
                lanes.forEach(Candidate::close);
            }
        }
    }

    private ResultTable run(DecideLoad load, BenchCluster.Workload workload, List<Candidate> lanes) throws Exception {
        if (load.hasKnownClients) {
            progress.accept("%s: %,d clients ask once each".formatted(load.name, load.clients));
            workload.ensureRequests(load.clients, List.of(number -> number, number -> number));
        }
        List<LongUnaryOperator> clients = List.of(zipf(load.clients, 1), zipf(load.clients, 2));
        long known = workload.sent();
        workload.ensureRequests(known + effort.warmUp() * 3 / 2, clients);
        for (Candidate lane : lanes) {
            slices.warmUp(lane, known + effort.warmUp());
        }
        List<CandidateSeries> series =
                slices.measure(lanes, (lane, requests) -> workload.ensureRequests(requests, clients));
        List<String> notes = new ArrayList<>();
        notes.add("%,d clients, by Zipf's law; a request has %d bytes, a decision %d; stream threads: %d"
                .formatted(load.clients, workload.requestBytes(workload.sent()), workload.decisionBytes(), threads));
        for (Candidate lane : lanes) {
            notes.add("resident at the end: %,d MiB, %s".formatted(lane.residentBytes() >> 20, lane.name()));
        }
        return ResultTable.of("decide", load.name, "requests/s", series, notes);
    }

    public static LongUnaryOperator zipf(long clients, long seed) {
        Zipf zipf = new Zipf(clients, seed);
        return number -> zipf.next();
    }
}
