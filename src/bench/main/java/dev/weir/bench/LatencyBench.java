package dev.weir.bench;

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
 * The time from a request to its decision, against a topology that only passes requests through.
 *
 * <p>Requests come at a steady rate, and the time of each counts from when it was due, whether or not it could be sent
 * then. So all that come due during a stall tell of it. Who sends the next request when the last one is answered hides
 * it in one of them: "coordinated omission", as Gil Tene calls it, whose HdrHistogram counts here.
 */
public final class LatencyBench {

    /**
     * What is decided.
     *
     * @param policies a policy file
     * @param clients of whom the k-th asks in proportion to 1/k
     */
    public record LatencyLoad(String name, String policies, long clients) {}

    /**
     * How long to measure.
     *
     * @param rounds how often each candidate has its turn at each rate
     * @param turn how long that lasts
     * @param warmUp how long each candidate has had the highest rate before: what it does by then is compiled
     */
    public record LatencyPlan(int rounds, Duration turn, Duration warmUp) {}

    private final LatencyPlan effort;
    private final List<SteadyRate> rates;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * What is to be measured.
     *
     * @param rates requests a second
     * @param kafka what all candidates are given beyond {@code weir run}'s defaults
     * @param progress is told what was measured
     * @throws IllegalArgumentException if one of the rates is below 1
     */
    public LatencyBench(LatencyPlan effort, List<Long> rates, Map<String, String> kafka, Consumer<String> progress) {
        this.effort = effort;
        this.rates = rates.stream().map(SteadyRate::new).toList();
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    public ResultTable run(LatencyLoad load) throws Exception {
        try (BenchCluster rig = new BenchCluster();
                BenchCluster.Workload passed = rig.workload(load.policies, kafka);
                BenchCluster.Workload decided = rig.workload(load.policies, kafka)) {
            rig.createPassThroughTopic(passed.config());
            try (LatencyCandidate passing = LatencyCandidate.passing(passed);
                    LatencyCandidate deciding = LatencyCandidate.deciding(load.name, decided)) {
                List<LatencyCandidate> lanes = List.of(passing, deciding);
                Map<String, List<Histogram>> rounds = measure(load, lanes);
                String sizes = "%,d clients, by Zipf's law; a request has %d bytes, a decision %d"
                        .formatted(load.clients, decided.requestBytes(System.nanoTime()), decided.decisionBytes());
                return table(lanes, rounds, sizes);
            }
        }
    }

    private Map<String, List<Histogram>> measure(LatencyLoad load, List<LatencyCandidate> lanes) throws Exception {
        Zipf zipf = new Zipf(load.clients, 1);
        LongUnaryOperator clients = number -> zipf.next();
        SteadyRate highest = new SteadyRate(
                rates.stream().mapToLong(SteadyRate::perSecond).max().orElseThrow());
        for (LatencyCandidate lane : lanes) {
            lane.measure(highest, effort.warmUp, clients);
            progress.accept("%s: warm".formatted(lane.name()));
        }
        List<LatencyCandidate> order = new ArrayList<>(lanes);
        Map<String, List<Histogram>> rounds = new LinkedHashMap<>();
        for (int round = 0; round < effort.rounds; round++) {
            for (SteadyRate rate : rates) {
                for (LatencyCandidate lane : order) {
                    lane.measure(rate, effort.turn, clients).forEach((level, histogram) -> {
                        String name = name(rate, level, lane);
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

    private static String name(SteadyRate rate, IsolationLevel level, LatencyCandidate lane) {
        return "%,d/s %s %s".formatted(rate.perSecond(), level, lane.name());
    }

    private ResultTable table(List<LatencyCandidate> lanes, Map<String, List<Histogram>> rounds, String sizes) {
        List<ResultTable.Row> rows = new ArrayList<>();
        for (SteadyRate rate : rates) {
            for (IsolationLevel level : LatencyCandidate.LEVELS) {
                List<Latencies> held = lanes.stream()
                        .map(lane -> name(rate, level, lane))
                        .map(name -> new Latencies(name, rounds.get(name)))
                        .toList();
                held.forEach(latencies -> rows.add(latencies.row(held.get(0))));
            }
        }
        String figures = "%d rounds of %d s; percentiles are the median of the rounds', max is the longest of all"
                .formatted(effort.rounds, effort.turn.toSeconds());
        return new ResultTable("latency", "from request to decision", Latencies.COLUMNS, rows, List.of(sizes, figures));
    }
}
