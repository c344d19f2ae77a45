package dev.weir.bench;

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
 * Measures the core and its peers in process, in JVMs of their own. Each round measures all of them anew, so that what
 * else the machine does meets them all.
 */
public final class PeerBench {

    private static final String BYTES = "gc.alloc.rate.norm";

    private PeerBench() {}

    /**
     * How long to measure.
     *
     * @param rounds how many JVMs measure each benchmark
     * @param iterationMs how long each of their iterations lasts, of which the first half warm up
     */
    public record IterationPlan(int rounds, int iterationMs) {}

    /**
     * Measures all benchmarks whose names contain a match of {@code pattern}: a decision's time on average, half of the
     * interval that has the true average with 99.9 percent, as far as the iterations tell, and what it allocates.
     *
     * @param progress is told the names of what was measured, in each round
     * @throws IllegalStateException if a benchmark fails
     */
    public static ResultTable measure(String pattern, IterationPlan effort, Consumer<String> progress) {
        ChainedOptionsBuilder benchmarks = new OptionsBuilder()
                .include("^" + PeerBench.class.getPackageName() + "\\.(?=Limit|Decider).*" + pattern)
                .addProfiler(GCProfiler.class)
                .jvmArgsAppend("-Xms1g", "-Xmx1g");
        List<ResultTable.Row> rows = JmhRunner.run(benchmarks, effort, progress).entrySet().stream()
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
