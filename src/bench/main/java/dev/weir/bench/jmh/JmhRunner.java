package dev.weir.bench.jmh;

import java.io.File;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Consumer;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs JMH benchmarks in separate JVMs. Each round measures all benchmarks in new JVMs, so that other load on the
 * machine affects all of them.
 */
public final class JmhRunner {

    private static final int ITERATIONS = 5;

    private JmhRunner() {}

    /**
     * Measures benchmarks. Returns the results of each benchmark, one for each round, in the order of measurement.
     *
     * @param benchmarks the options that select the benchmarks
     * @param progress receives the name of each benchmark in each round
     * @throws IllegalStateException if a benchmark fails
     */
    public static Map<BenchmarkParams, List<BenchmarkResult>> run(
            ChainedOptionsBuilder benchmarks, PeerBench.IterationPlan plan, Consumer<String> progress) {
        TimeValue time = TimeValue.milliseconds(plan.iterationMs());
        Options options = benchmarks
                .forks(1)
                .warmupIterations(ITERATIONS)
                .warmupTime(time)
                .measurementIterations(ITERATIONS)
                .measurementTime(time)
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT)
                .build();
        Map<BenchmarkParams, List<BenchmarkResult>> results = new LinkedHashMap<>();
        Map<String, BenchmarkParams> params = new HashMap<>();
        String classPath = System.getProperty("java.class.path");
        System.setProperty("java.class.path", classPath(classPath)); // JMH starts its JVMs with this class path
        try {
            for (int round = 0; round < plan.rounds(); round++) {
                for (RunResult result : new Runner(options).run()) {
                    String name = name(result.getParams());
                    BenchmarkParams first = params.computeIfAbsent(name, n -> result.getParams());
                    results.computeIfAbsent(first, f -> new ArrayList<>()).addAll(result.getBenchmarkResults());
                    progress.accept(name);
                }
            }
        } catch (RunnerException e) {
            throw new IllegalStateException("a benchmark failed", e);
        } finally {
            System.setProperty("java.class.path", classPath);
        }
        return results;
    }

    /** Returns the class and method of a benchmark, and the values of its parameters. */
    static String name(BenchmarkParams params) {
        String benchmark = params.getBenchmark();
        StringJoiner name = new StringJoiner(" ");
        name.add(benchmark.substring(benchmark.lastIndexOf('.', benchmark.lastIndexOf('.') - 1) + 1));
        params.getParamsKeys().forEach(key -> name.add(params.getParam(key)));
        return name.toString();
    }

    /**
     * Returns the class path for other JVMs: that of this process, or the URLs of the class loader if another class
     * loader loaded Weir, for example that of Maven.
     */
    private static String classPath(String own) {
        if (!(JmhRunner.class.getClassLoader() instanceof URLClassLoader loader)) {
            return own;
        }
        StringJoiner path = new StringJoiner(File.pathSeparator);
        for (URL url : loader.getURLs()) {
            try {
                path.add(new File(url.toURI()).getPath());
            } catch (URISyntaxException e) {
                throw new IllegalStateException("cannot start another JVM with the class path entry " + url, e);
            }
        }
        return path.toString();
    }
}
