package dev.weir.bench;

import dev.weir.bench.jmh.DeciderBenchmark;
import dev.weir.bench.jmh.JmhRunner;
import dev.weir.bench.jmh.PeerBench;
import dev.weir.bench.jmh.ShaperBenchmark;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** The costs of a decision and a release by the size of one factor, relative to the smallest size. Runs in process. */
public final class GrowthBench {

    /** The factor that grows. */
    @SuppressWarnings("ImmutableEnumChecker") // its list is never changed
    public enum GrowthFactor {
        LOG("a decision, by entries of the log", List.of(10, 100, 1_000, 10_000, 100_000)),
        POLICIES("a decision, by policies", List.of(10, 100, 1_000, 10_000)),
        LIMITS("a decision, by limits of its policy", List.of(1, 2, 3, 4, 5)),
        LAYERS("a decision, by layers of one limit each", List.of(1, 2, 3)),
        WAITING("a release, by waiting requests of 1,000 clients", List.of(1_000, 10_000, 100_000, 1_000_000)),
        CLIENTS("a release, by clients of 100,000 waiting requests", List.of(1, 10, 100, 1_000, 10_000, 100_000));

        private final String title;
        private final List<Integer> sizes;

        GrowthFactor(String title, List<Integer> sizes) {
            this.title = title;
            this.sizes = sizes;
        }

        /** Returns the name of the benchmark parameter for the size. */
        private String parameter() {
            return switch (this) {
                case LOG, POLICIES, LIMITS, LAYERS -> "scenario";
                case WAITING -> "waiting";
                case CLIENTS -> "clients";
            };
        }

        private String place() {
            return parameter().equals("scenario") ? "in process, on the heap" : "in process, in RocksDB";
        }

        private String value(int size) {
            return switch (this) {
                case LOG -> "LOG_OF_" + withUnderscores(size);
                case POLICIES, LIMITS, LAYERS -> name() + "_" + withUnderscores(size);
                case WAITING, CLIENTS -> String.valueOf(size);
            };
        }

        private static String withUnderscores(int size) {
            return withSeparators(size).replace(',', '_');
        }

        private ChainedOptionsBuilder benchmarks(List<Integer> upTo) {
            Class<?> benchmark = parameter().equals("scenario") ? DeciderBenchmark.class : ShaperBenchmark.class;
            return new OptionsBuilder()
                    .include("^" + benchmark.getName() + "\\.")
                    .param(parameter(), upTo.stream().map(this::value).toArray(String[]::new))
                    .jvmArgsAppend("-Xmx2g");
        }
    }

    private final PeerBench.IterationPlan plan;
    private final int maxSize;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param most the maximum size
     * @param progress receives the name of each measured benchmark
     */
    public GrowthBench(PeerBench.IterationPlan plan, int most, Consumer<String> progress) {
        this.plan = plan;
        this.maxSize = most;
        this.progress = progress;
    }

    /** Measures each size, relative to the smallest. */
    public ResultTable run(GrowthFactor of) {
        List<Integer> sizes = of.sizes.stream().filter(size -> size <= maxSize).toList();
        Map<String, List<Double>> measured = new HashMap<>();
        JmhRunner.run(of.benchmarks(sizes), plan, progress)
                .forEach((params, rounds) -> measured.put(params.getParam(of.parameter()), scores(rounds)));
        List<CandidateSeries> series = sizes.stream()
                .map(size -> new CandidateSeries(withSeparators(size), measured.get(of.value(size))))
                .toList();
        return ResultTable.of("growth", of.title, "ns", series, List.of(of.place()));
    }

    private static List<Double> scores(List<BenchmarkResult> rounds) {
        return rounds.stream().map(round -> round.getPrimaryResult().getScore()).toList();
    }

    private static String withSeparators(int size) {
        return String.format(Locale.ROOT, "%,d", size);
    }
}
