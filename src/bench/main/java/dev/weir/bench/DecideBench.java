package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.candidate.ReservedRequests;
import dev.weir.bench.candidate.TimeSlices;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.RunPlan;
import dev.weir.bench.measure.Zipf;
import dev.weir.config.WeirConfig;
import dev.weir.event.RequestKind;
import dev.weir.wire.OutputFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Measures decisions per second, compared with a topology that only forwards requests. */
public final class DecideBench {

    /**
     * The requests and policies.
     *
     * @param name the name of the deciding candidate
     * @param policies the text of a policy file; each decision should charge, because that costs most
     * @param clients the number of clients; the k-th sends a share of requests proportional to 1/k
     * @param hasKnownClients whether each client sends a request before the measurement
     * @param held how many reservations are open at all times, if every second request creates one and the others end
     *     one each; empty if all are plain requests
     */
    public record DecideLoad(String name, String policies, long clients, boolean hasKnownClients, OptionalLong held) {}

    /** The algorithm under which each request that passes is a reservation. */
    public static final String CONCURRENCY = "concurrency";

    /** The JVM options of candidates, which are those of the container image. */
    public static final List<String> JVM = List.of("-Xmx1g", "-XX:+UseParallelGC");

    /** The most warm-up requests if slots are in use: they take longer than others. */
    private static final long WARM_UP_OF_SLOTS = 1_000_000;

    /** An estimate of the requests per second of the fastest candidate. */
    public static final long FIRST_GUESS = 400_000;

    /** The limit of {@link #policyYaml} for each client. */
    public static final long LIMIT = 1_000_000;

    /** The window of that limit in milliseconds. */
    public static final long PER_MS = 60_000;

    private final Map<String, String> kafka;

    /** The values of state.hot-memory, one candidate for each. */
    private final List<Long> hotMemory;

    private final RunPlan plan;
    private final int threads;
    private final OutputFormat format;
    private final Consumer<String> progress;
    private final TimeSlices slices;

    /**
     * Creates a benchmark.
     *
     * @param threads the stream threads of each candidate
     * @param hotMemory the values of {@code state.hot-memory} in bytes, one candidate for each
     * @param format the format of requests and decisions
     * @param kafka Kafka settings of all candidates that override those of {@code weir run}
     * @param progress receives a line for each measurement
     */
    public DecideBench(
            RunPlan plan,
            int threads,
            List<Long> hotMemory,
            OutputFormat format,
            Map<String, String> kafka,
            Consumer<String> progress) {
        this.plan = plan;
        this.threads = threads;
        this.hotMemory = List.copyOf(hotMemory);
        this.format = format;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
        this.slices = new TimeSlices(plan, FIRST_GUESS, progress);
    }

    /** Returns a policy file with a limit of concurrency, which no client reaches, of which slots are in use. */
    public static String slotsYaml(long held) {
        return "policies: [{id: bench, limits: [{algorithm: %s, limit: %d, ttl: %dms}]}]"
                .formatted(CONCURRENCY, LIMIT, ReservedRequests.durationMs(held));
    }

    /** Returns a policy file with one limit by an algorithm of rates, which no client reaches. */
    public static String policyYaml(String algorithm) {
        return "policies: [{id: bench, limits: [{algorithm: %s, limit: %d, per: %dms}]}]"
                .formatted(algorithm, LIMIT, PER_MS);
    }

    /** Measures all candidates. */
    public ResultTable run(DecideLoad load) throws Exception {
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload workload = cluster.workload(load.policies, format, kafka)) {
            cluster.createPassThroughTopic(workload.config());
            List<Candidate> candidates = new ArrayList<>();
            try {
                candidates.add(new Candidate(
                        "pass-through", Candidate.CandidateKind.PASS, workload.config("pass", threads, 0), JVM));
                for (long bytes : hotMemory) {
                    String name = hotMemory.size() == 1 ? load.name : load.name + ", hot-memory " + bytes;
                    WeirConfig config = workload.config("decide-" + bytes, threads, bytes);
                    candidates.add(new Candidate(
                            name,
                            Candidate.CandidateKind.DECIDE,
                            load.held.isPresent() ? ReservedRequests.config(config) : config,
                            JVM));
                }
                return run(load, workload, candidates);
            } finally {
                candidates.forEach(Candidate::close);
            }
        }
    }

    private ResultTable run(DecideLoad load, BenchCluster.Workload workload, List<Candidate> candidates)
            throws Exception {
        if (load.hasKnownClients) {
            progress.accept("%s: sending one request of each of %,d clients".formatted(load.name, load.clients));
            workload.ensureRequests(load.clients, List.of(number -> number, number -> number));
        }
        long known = workload.sent();
        long warmUp = load.held.isEmpty()
                ? plan.warmUp()
                : Math.max(Math.min(plan.warmUp(), WARM_UP_OF_SLOTS), 2 * load.held.getAsLong()); // until all are held
        TimeSlices.RequestSupply supply = supply(load, workload);
        for (Candidate candidate : candidates) {
            supply.ensureRequests(candidate, known + warmUp * 3 / 2);
            slices.warmUp(candidate, known + warmUp);
        }
        List<CandidateSeries> series = slices.measure(candidates, supply);
        List<String> notes = new ArrayList<>();
        load.held.ifPresent(held -> notes.add("%,d slots in use; every second request is a RELEASE".formatted(held)));
        notes.add("%,d clients with a %s distribution; requests of %d bytes, decisions of %d, in %s; stream threads: %d"
                .formatted(
                        load.clients,
                        load.held.isPresent() ? "uniform" : "Zipf",
                        workload.requestBytes(workload.sent()),
                        workload.decisionBytes(),
                        format,
                        threads));
        for (Candidate candidate : candidates) {
            notes.add("resident memory at the end: %,d MiB, %s"
                    .formatted(candidate.residentBytes() >> 20, candidate.name()));
        }
        return ResultTable.of("decide", load.name, "requests/s", series, notes);
    }

    private static TimeSlices.RequestSupply supply(DecideLoad load, BenchCluster.Workload workload) {
        if (load.held.isPresent()) {
            ReservedRequests source =
                    new ReservedRequests(load.clients, load.held.getAsLong(), RequestKind.RELEASE, null);
            return (candidate, requests) -> workload.ensureRequests(requests, source);
        }
        List<LongUnaryOperator> clients = List.of(zipf(load.clients, 1), zipf(load.clients, 2));
        return (candidate, requests) -> workload.ensureRequests(requests, clients);
    }

    /** Returns a function to client numbers with a Zipf distribution. */
    public static LongUnaryOperator zipf(long clients, long seed) {
        Zipf zipf = new Zipf(clients, seed);
        return number -> zipf.next();
    }
}
