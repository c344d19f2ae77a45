package dev.weir.bench;

import dev.weir.bench.BacktestProcess.BacktestMode;
import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.Zipf;
import dev.weir.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Utils;

/** Measures the requests per second of a backtest, by one thread in a separate process. */
public final class BacktestBench {

    private static final Map<BacktestMode, String> NAMES = new EnumMap<>(Map.of(
            BacktestMode.READ, "requests from a file",
            BacktestMode.READ_AND_WRITE, "requests from a file, decisions to a file",
            BacktestMode.DECIDE, "requests in memory"));

    private static final int WARM_UPS = 3;

    private final int rounds;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param rounds how often all requests are decided in each mode
     * @param progress receives a line for each measurement
     */
    public BacktestBench(int rounds, Consumer<String> progress) {
        this.rounds = rounds;
        this.progress = progress;
    }

    /**
     * Measures all modes.
     *
     * @param requests the number of requests
     * @param clients the number of clients; the k-th sends a share of requests proportional to 1/k
     */
    public ResultTable run(int requests, long clients) throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("weir-bench-");
        try {
            Path file = directory.resolve("requests.ndjson");
            write(file, requests, clients);
            String note = "%,d requests of %,d bytes, %,d clients with a Zipf distribution; one thread"
                    .formatted(requests, Files.size(file) / requests, clients);
            return table(measure(file, requests), note);
        } finally {
            Utils.delete(directory.toFile());
        }
    }

    /** Writes requests like those of {@link BenchCluster}, with a hundred per millisecond. */
    private static void write(Path file, int requests, long clients) throws IOException {
        Zipf zipf = new Zipf(clients, 1);
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            for (int i = 0; i < requests; i++) {
                out.printf(
                        "{\"requestId\":\"request-%d\",\"client\":\"client-%d\",\"timestamp\":%d,\"tier\":\"free\",\"cost\":1,"
                                + "\"attributes\":{\"endpoint\":\"/articles/%d\",\"ip\":\"10.0.0.1\","
                                + "\"agent\":\"Mozilla/5.0 (X11; Linux x86_64)\"}}%n",
                        i, zipf.next(), i / 100, i % 1000);
            }
        }
    }

    /** Returns the requests per second of each mode: first by elapsed time, then by the CPU time of the thread. */
    private List<Map<BacktestMode, CandidateSeries>> measure(Path file, int requests)
            throws IOException, InterruptedException {
        List<Map<BacktestMode, List<Double>>> values =
                List.of(new EnumMap<>(BacktestMode.class), new EnumMap<>(BacktestMode.class));
        Process process = JavaProcess.of(
                        DecideBench.JVM, BacktestProcess.class, file.toString(), String.valueOf(WARM_UPS + rounds))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            int measured = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (measured++ < WARM_UPS * BacktestMode.values().length) {
                    continue;
                }
                Scanner words = new Scanner(line);
                BacktestMode way = BacktestMode.valueOf(words.next());
                for (Map<BacktestMode, List<Double>> of : values) {
                    of.computeIfAbsent(way, w -> new ArrayList<>()).add(requests * 1e9 / words.nextLong());
                }
                progress.accept("%s: %,.0f/s"
                        .formatted(NAMES.get(way), last(values.get(0).get(way))));
            }
        }
        if (process.waitFor() != 0) {
            throw new IOException("the backtest process failed; its standard error has the cause");
        }
        return values.stream().map(BacktestBench::series).toList();
    }

    private static double last(List<Double> values) {
        return values.get(values.size() - 1);
    }

    private static Map<BacktestMode, CandidateSeries> series(Map<BacktestMode, List<Double>> values) {
        Map<BacktestMode, CandidateSeries> series = new EnumMap<>(BacktestMode.class);
        values.forEach((way, of) -> series.put(way, new CandidateSeries(NAMES.get(way), of)));
        return series;
    }

    private static ResultTable table(List<Map<BacktestMode, CandidateSeries>> measured, String note) {
        List<ResultTable.Row> rows = new ArrayList<>();
        measured.get(0)
                .forEach((way, byClock) -> rows.add(ResultTable.Row.of(
                        byClock.name(),
                        byClock.median(),
                        byClock.min(),
                        byClock.max(),
                        measured.get(1).get(way).median())));
        return new ResultTable(
                "backtest", "backtest", List.of("requests/s", "min", "max", "per CPU second"), rows, List.of(note));
    }
}
