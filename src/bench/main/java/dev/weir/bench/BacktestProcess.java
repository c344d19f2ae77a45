package dev.weir.bench;

import dev.weir.backtest.Backtest;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonLines;
import dev.weir.wire.json.RequestJson;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * The main class of the process of a {@link BacktestBench}. In each round, it decides all requests of a file in each
 * mode, and prints the mode, the elapsed time and the CPU time of the thread, in nanoseconds.
 */
final class BacktestProcess {

    /** The input and the output of a run. */
    enum BacktestMode {
        /** A file of requests, decisions counted: {@code weir backtest}. */
        READ,
        /** A file of requests, and one of decisions: {@code weir backtest --decisions}. */
        READ_AND_WRITE,
        /** Requests in memory, decisions counted. */
        DECIDE
    }

    private final Path file;
    private final Backtest backtest;
    private final List<Request> requests = new ArrayList<>();

    private BacktestProcess(Path file) throws IOException, FaultsException {
        this.file = file;
        this.backtest = new Backtest(
                PolicyFile.read("bench", DecideBench.policyYaml("sliding-window-counter")),
                WeirConfig.DEFAULTS,
                Clock.systemUTC());
        try (NdjsonLines lines = NdjsonLines.open(file.toString())) {
            for (String line = lines.next(); line != null; line = lines.next()) {
                requests.add(RequestJson.read(line, 0, new Request.Source(0, requests.size())));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        BacktestProcess process = new BacktestProcess(Path.of(args[0]));
        for (int round = 0; round < Integer.parseInt(args[1]); round++) {
            for (BacktestMode way : BacktestMode.values()) {
                process.measure(way);
            }
        }
    }

    private void measure(BacktestMode way) throws IOException {
        var threads = ManagementFactory.getThreadMXBean();
        System.gc(); // garbage of the previous mode
        long begin = System.nanoTime();
        long cpuBegin = threads.getCurrentThreadCpuTime();
        long decided = decide(way);
        long cpuNanos = threads.getCurrentThreadCpuTime() - cpuBegin;
        long nanos = System.nanoTime() - begin;
        if (decided != requests.size()) {
            throw new IllegalStateException(way + " decided " + decided + " of " + requests.size());
        }
        System.out.println(way + " " + nanos + " " + cpuNanos);
    }

    /** Returns the number of decided requests. */
    private long decide(BacktestMode way) throws IOException {
        if (way == BacktestMode.DECIDE) {
            Iterator<Request> all = requests.iterator();
            return backtest.run(() -> all.hasNext() ? all.next() : null, null, null)
                    .all()
                    .requests();
        }
        Path answers = file.resolveSibling("decisions.ndjson");
        try (NdjsonLines lines = NdjsonLines.open(file.toString());
                DecisionJson decisions =
                        way == BacktestMode.READ ? null : new DecisionJson(Files.newBufferedWriter(answers))) {
            return backtest.run(lines, decisions, null).all().requests();
        }
    }
}
