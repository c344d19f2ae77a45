package dev.weir.bench.jmh;

import dev.weir.bench.measure.ResultTable;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Measures decisions of the core and of other libraries with JMH, without Kafka. Each round measures all of them in
 * new JVMs, so that other load on the machine affects all of them.
 */
public final class PeerBench {

    private static final String BYTES = "gc.alloc.rate.norm";

    private PeerBench() {}

    /**
     * How long to measure.
     *
     * @param rounds the number of JVMs for each benchmark
     * @param iterationMs the duration of an iteration in milliseconds; the first half of the iterations are the warm-up
     */
    public record IterationPlan(int rounds, int iterationMs) {}

    /**
     * Measures all benchmarks whose names contain a match of a regular expression. Returns the average time of a
     * decision, half of its 99.9 % confidence interval, and the allocated bytes.
     *
     * @param progress receives the name of each benchmark in each round
     * @throws IllegalStateException if a benchmark fails
     */
    public static ResultTable measure(String pattern, IterationPlan plan, Consumer<String> progress) {
        ChainedOptionsBuilder benchmarks = new OptionsBuilder()
                .include("^" + PeerBench.class.getPackageName() + "\\.(?=Limit|Decider).*" + pattern)
                .addProfiler(GCProfiler.class)
                .jvmArgsAppend("-Xms1g", "-Xmx1g");
        List<ResultTable.Row> rows = JmhRunner.run(benchmarks, plan, progress).entrySet().stream()
                .map(entry -> row(JmhRunner.name(entry.getKey()), entry.getKey(), entry.getValue()))
                .toList();
        return new ResultTable("peers", "a decision by", List.of("ns", "+-", "bytes"), rows, List.of());
    }

    private static ResultTable.Row row(String name, BenchmarkParams params, Collection<BenchmarkResult> results) {
        RunResult all = new RunResult(params, results);
        Result<?> time = all.getPrimaryResult();
        double bytes = all.getSecondaryResults().get(BYTES).getScore();
        return ResultTable.Row.of(name, time.getScore(), time.getScoreError(), bytes);
    }
}
