package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.measure.Latencies;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.SteadyRate;
import dev.weir.bench.measure.Zipf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import org.HdrHistogram.Histogram;
import org.apache.kafka.common.IsolationLevel;

/**
 * Measures the time from a request to its decision, compared with a topology that only forwards requests.
 *
 * <p>Requests are due at a steady rate, and the latency of each is measured from when it was due, even if it was sent
 * later. So a stall counts for every request that was due in it. A client that sends the next request only after the
 * response to the previous one would count a stall once: "coordinated omission" (Gil Tene, the author of HdrHistogram,
 * which records the latencies here).
 */
public final class LatencyBench {

    /**
     * The requests and policies.
     *
     * @param name the name of the deciding candidate
     * @param policies the text of a policy file
     * @param clients the number of clients; the k-th sends a share of requests proportional to 1/k
     */
    public record LatencyLoad(String name, String policies, long clients) {}

    /**
     * How long to measure.
     *
     * @param rounds how often each candidate is measured at each rate
     * @param turn the duration of one measurement
     * @param warmUp how long each candidate runs at the highest rate before, so that its code is compiled
     */
    public record LatencyPlan(int rounds, Duration turn, Duration warmUp) {}

    private final LatencyPlan plan;
    private final List<SteadyRate> rates;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param rates the rates in requests per second
     * @param kafka Kafka settings of all candidates that override those of {@code weir run}
     * @param progress receives a line for each measurement
     * @throws IllegalArgumentException if one of the rates is below 1
     */
    public LatencyBench(LatencyPlan plan, List<Long> rates, Map<String, String> kafka, Consumer<String> progress) {
        this.plan = plan;
        this.rates = rates.stream().map(SteadyRate::new).toList();
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    /** Measures the latencies of both topologies. */
    public ResultTable run(LatencyLoad load) throws Exception {
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload passed = cluster.workload(load.policies, kafka);
                BenchCluster.Workload decided = cluster.workload(load.policies, kafka)) {
            cluster.createPassThroughTopic(passed.config());
            try (LatencyCandidate passing = LatencyCandidate.passing(passed);
                    LatencyCandidate deciding = LatencyCandidate.deciding(load.name, decided)) {
                List<LatencyCandidate> candidates = List.of(passing, deciding);
                Map<String, List<Histogram>> rounds = measure(load, candidates);
                String sizes = "%,d clients with a Zipf distribution; requests of %d bytes, decisions of %d"
                        .formatted(load.clients, decided.requestBytes(System.nanoTime()), decided.decisionBytes());
                return table(candidates, rounds, sizes);
            }
        }
    }

    private Map<String, List<Histogram>> measure(LatencyLoad load, List<LatencyCandidate> candidates) throws Exception {
        Zipf zipf = new Zipf(load.clients, 1);
        LongUnaryOperator clients = number -> zipf.next();
        SteadyRate highest = new SteadyRate(
                rates.stream().mapToLong(SteadyRate::perSecond).max().orElseThrow());
        for (LatencyCandidate candidate : candidates) {
            candidate.measure(highest, plan.warmUp, clients);
            progress.accept("%s: warmed up".formatted(candidate.name()));
        }
        List<LatencyCandidate> order = new ArrayList<>(candidates);
        Map<String, List<Histogram>> rounds = new LinkedHashMap<>();
        for (int round = 0; round < plan.rounds; round++) {
            for (SteadyRate rate : rates) {
                for (LatencyCandidate candidate : order) {
                    candidate.measure(rate, plan.turn, clients).forEach((level, histogram) -> {
                        String name = name(rate, level, candidate);
                        rounds.computeIfAbsent(name, unused -> new ArrayList<>())
                                .add(histogram);
                        progress.accept("%s: p99 %.1f ms".formatted(name, histogram.getValueAtPercentile(99) / 1e6));
                    });
                }
            }
            Collections.reverse(order);
        }
        return rounds;
    }

    private static String name(SteadyRate rate, IsolationLevel level, LatencyCandidate candidate) {
        return "%,d/s %s %s".formatted(rate.perSecond(), level, candidate.name());
    }

    private ResultTable table(List<LatencyCandidate> candidates, Map<String, List<Histogram>> rounds, String sizes) {
        List<ResultTable.Row> rows = new ArrayList<>();
        for (SteadyRate rate : rates) {
            for (IsolationLevel level : LatencyCandidate.LEVELS) {
                List<Latencies> held = candidates.stream()
                        .map(candidate -> name(rate, level, candidate))
                        .map(name -> new Latencies(name, rounds.get(name)))
                        .toList();
                held.forEach(latencies -> rows.add(latencies.row(held.get(0))));
            }
        }
        String figures = "%d rounds of %d s; percentiles: median of the rounds, max: of all rounds"
                .formatted(plan.rounds, plan.turn.toSeconds());
        return new ResultTable("latency", "from request to decision", Latencies.COLUMNS, rows, List.of(sizes, figures));
    }
}
