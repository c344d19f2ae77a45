package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.candidate.ReservedRequests;
import dev.weir.bench.candidate.TimeSlices;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.RunPlan;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongFunction;

/** Compares a reservation and its SETTLE with two plain requests, under the same limit. */
public final class ReserveBench {

    private static final String PLAIN = "two CONSUMEs";
    private static final String RESERVED = "a reservation and its end";

    private final RunPlan plan;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param kafka Kafka settings of all candidates that override those of {@code weir run}
     * @param progress receives a line for each measurement
     */
    public ReserveBench(RunPlan plan, Map<String, String> kafka, Consumer<String> progress) {
        this.plan = plan;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    /**
     * Measures both candidates.
     *
     * @param clients the number of clients; each sends as many requests
     * @param held how many reservations are open at all times
     */
    public ResultTable run(String algorithm, long clients, long held) throws Exception {
        String policies = DecideBench.policyYaml(algorithm);
        Map<String, BenchCluster.Workload> workloads = new HashMap<>();
        Map<String, LongFunction<Request>> sources = new HashMap<>();
        List<Candidate> candidates = new ArrayList<>();
        ReservedRequests reserved =
                new ReservedRequests(clients, held, RequestKind.SETTLE, ReservedRequests.durationMs(held));
        sources.put(RESERVED, reserved);
        sources.put(PLAIN, number -> plain(reserved.apply(number | 1), reserved.apply(number), number));
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload ofPlain = cluster.workload(policies, kafka);
                BenchCluster.Workload ofReserved = cluster.workload(policies, kafka)) {
            workloads.put(PLAIN, ofPlain);
            workloads.put(RESERVED, ofReserved);
            try {
                for (String name : List.of(PLAIN, RESERVED)) {
                    BenchCluster.Workload workload = workloads.get(name);
                    long hotBytes = workload.config().state().hotMemoryBytes();
                    candidates.add(new Candidate(
                            name,
                            Candidate.CandidateKind.DECIDE,
                            ReservedRequests.config(workload.config("decide", hotBytes)),
                            DecideBench.JVM));
                }
                TimeSlices.RequestSupply supply = (candidate, requests) ->
                        workloads.get(candidate.name()).ensureRequests(requests, sources.get(candidate.name()));
                return run(algorithm, clients, held, supply, candidates);
            } finally {
                candidates.forEach(Candidate::close);
            }
        }
    }

    /**
     * Returns a request that is like one which reserves.
     *
     * @param other the request of the other candidate with this number: the clients are the same
     */
    private static Request plain(Request reserving, Request other, long number) {
        return Request.builder("request-" + number, other.client())
                .tier(reserving.tier())
                .cost(reserving.cost())
                .attributes(reserving.attributes())
                .source(0, number)
                .build();
    }

    private ResultTable run(
            String algorithm, long clients, long held, TimeSlices.RequestSupply supply, List<Candidate> candidates)
            throws Exception {
        TimeSlices slices = new TimeSlices(plan, DecideBench.FIRST_GUESS, progress);
        long warmUp = Math.max(plan.warmUp(), 2 * held); // until as many are held
        for (Candidate candidate : candidates) {
            supply.ensureRequests(candidate, warmUp * 3 / 2);
            slices.warmUp(candidate, warmUp);
        }
        List<CandidateSeries> series = slices.measure(candidates, supply);
        List<String> notes =
                List.of("%,d clients; %,d reservations are open, each with its own id".formatted(clients, held));
        return ResultTable.of("reserve", algorithm, "requests/s", series, notes);
    }
}
