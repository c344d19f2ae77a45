package dev.weir.bench;

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
 * Runs benchmarks in JVMs of their own. Each round measures all of them anew, so that what else the machine does meets
 * them all.
 */
final class JmhRunner {

    private static final int ITERATIONS = 5;

    private JmhRunner() {}

    /**
     * Measures benchmarks: of each a result of each round, in the order in which they were measured.
     *
     * @param benchmarks which ones
     * @param progress is told the names of what was measured, in each round
     * @throws IllegalStateException if a benchmark fails
     */
    static Map<BenchmarkParams, List<BenchmarkResult>> run(
            ChainedOptionsBuilder benchmarks, PeerBench.IterationPlan effort, Consumer<String> progress) {
        TimeValue time = TimeValue.milliseconds(effort.iterationMs());
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
        System.setProperty("java.class.path", classPath(classPath)); // what JMH gives to the JVMs that it starts
        try {
            for (int round = 0; round < effort.rounds(); round++) {
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

    /** The benchmark's class and method, and the values of its parameters. */
    static String name(BenchmarkParams params) {
        String benchmark = params.getBenchmark();
        StringJoiner name = new StringJoiner(" ");
        name.add(benchmark.substring(benchmark.lastIndexOf('.', benchmark.lastIndexOf('.') - 1) + 1));
        params.getParamsKeys().forEach(key -> name.add(params.getParam(key)));
        return name.toString();
    }

    /** The class path of this process; of one that has loaded Weir itself, as Maven has, what it was loaded from. */
    private static String classPath(String own) {
        if (!(JmhRunner.class.getClassLoader() instanceof URLClassLoader loader)) {
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
