package dev.weir.bench;

import java.io.File;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Consumer;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Measures the core and its peers in process, in JVMs of their own. Each round measures all of them anew, so that what else
 * the machine does meets them all.
 */
public final class Peers {

    private static final String BYTES = "gc.alloc.rate.norm";

    private Peers() {}

    /**
     * How long to measure.
     *
     * @param rounds how many JVMs measure each benchmark
     * @param warmUps iterations that do not count
     * @param iterations those that do
     * @param iterationMs the length of each
     */
    public record Effort(int rounds, int warmUps, int iterations, int iterationMs) {}

    /**
     * Measures all benchmarks whose names contain a match of {@code pattern}: a decision's time on average, half of the
     * interval that has the true average with 99.9 percent, as far as the iterations tell, and what it allocates.
     *
     * @param progress is told the names of what was measured, in each round
     * @throws IllegalStateException if a benchmark fails
     */
    public static Table measure(String pattern, Effort effort, Consumer<String> progress) {
        Options options = options(pattern, effort);
        Map<String, List<BenchmarkResult>> results = new LinkedHashMap<>();
        Map<String, BenchmarkParams> params = new LinkedHashMap<>();
        String classPath = System.getProperty("java.class.path");
        System.setProperty("java.class.path", classPath(classPath)); // what JMH gives to the JVMs that it starts
        try {
            for (int round = 0; round < effort.rounds; round++) {
                for (RunResult result : new Runner(options).run()) {
                    String name = name(result.getParams());
                    params.put(name, result.getParams());
                    results.computeIfAbsent(name, n -> new ArrayList<>()).addAll(result.getBenchmarkResults());
                    progress.accept(name);
                }
            }
        } catch (RunnerException e) {
            throw new IllegalStateException("a benchmark failed", e);
        } finally {
            System.setProperty("java.class.path", classPath);
        }
        List<Table.Row> rows = new ArrayList<>();
        results.forEach((name, all) -> rows.add(row(name, params.get(name), all)));
        return new Table("peers", "a decision by", List.of("ns", "+-", "bytes"), rows, List.of());
    }

    private static Options options(String pattern, Effort effort) {
        TimeValue time = TimeValue.milliseconds(effort.iterationMs);
        return new OptionsBuilder()
                .include("^" + Peers.class.getPackageName() + "\\..*" + pattern)
                .addProfiler(GCProfiler.class)
                .forks(1)
                .warmupIterations(effort.warmUps)
                .warmupTime(time)
                .measurementIterations(effort.iterations)
                .measurementTime(time)
                .jvmArgsAppend("-Xms1g", "-Xmx1g")
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT)
                .build();
    }

    private static Table.Row row(String name, BenchmarkParams params, Collection<BenchmarkResult> results) {
        RunResult all = new RunResult(params, results);
        Result<?> time = all.getPrimaryResult();
        double bytes = all.getSecondaryResults().get(BYTES).getScore();
        return Table.Row.of(name, time.getScore(), time.getScoreError(), bytes);
    }

    /** The benchmark's class and method, and the values of its parameters. */
    private static String name(BenchmarkParams params) {
        String benchmark = params.getBenchmark();
        StringJoiner name = new StringJoiner(" ");
        name.add(benchmark.substring(benchmark.lastIndexOf('.', benchmark.lastIndexOf('.') - 1) + 1));
        params.getParamsKeys().forEach(key -> name.add(params.getParam(key)));
        return name.toString();
    }

    /** The class path of this process; of one that has loaded Weir itself, as Maven has, what it was loaded from. */
    private static String classPath(String own) {
        if (!(Peers.class.getClassLoader() instanceof URLClassLoader loader)) {
            return own;
        }
        StringJoiner path = new StringJoiner(File.pathSeparator);
        for (URL url : loader.getURLs()) {
            try {
                path.add(new File(url.toURI()).getPath());
            } catch (URISyntaxException e) {
                throw new IllegalStateException("cannot start another JVM with " + url, e);
            }
        }
        return path.toString();
    }
}
