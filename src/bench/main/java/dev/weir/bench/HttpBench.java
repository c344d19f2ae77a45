package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.Rounds;
import dev.weir.cli.Main;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.testing.HttpConnection;
import dev.weir.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;

/**
 * Measures decisions over HTTP by concurrent callers, each of which waits for its answer before it sends the next
 * request. Compares an instance with a server that allows everything, and with the same callers of a {@link WeirClient}.
 */
public final class HttpBench {

    private static final List<String> JVM = List.of("-Xmx512m", "-XX:+UseParallelGC");
    private static final List<String> NO_DELAY = List.of("-Dsun.net.httpserver.nodelay=true");
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Pattern INSTANCE = Pattern.compile(".* API on http://127.0.0.1:(\\d+)/v1.*");
    private static final Pattern SERVER = Pattern.compile("port (\\d+)");
    private static final double NANOS_PER_MS = 1e6;

    private final int callers;
    private final Duration turn;
    private final Duration warmUp;
    private final int rounds;
    private final Consumer<String> progress;
    private final AtomicLong numbers = new AtomicLong();

    /** One caller. Each call decides a request of one of many clients. */
    private interface Caller extends AutoCloseable {
        void call(long number) throws Exception;

        @Override
        default void close() throws Exception {}
    }

    /** Creates the callers of a candidate. */
    private interface CallerFactory {
        Caller create() throws IOException;
    }

    /**
     * Creates a benchmark.
     *
     * @param callers the number of connections
     * @param turn how long each candidate is measured in a round
     * @param warmUp how long each candidate is warmed up
     * @param progress receives a line for each measurement
     */
    public HttpBench(int callers, int rounds, Duration turn, Duration warmUp, Consumer<String> progress) {
        this.callers = callers;
        this.rounds = rounds;
        this.turn = turn;
        this.warmUp = warmUp;
        this.progress = progress;
    }

    /** Measures all candidates. */
    public ResultTable run() throws Exception {
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload workload = cluster.workload(DecideBench.policyYaml("gcra"), Map.of())) {
            WeirConfig config = workload.config();
            Process allowing = start(NO_DELAY, AllowingServer.class, String.valueOf(callers));
            Process instance =
                    start(List.of(), Main.class, "run", "-c", configFile(config).toString());
            try (WeirClient client = WeirClient.builder(KafkaSettings.weirClient(config))
                    .prefix(config.topics().prefix())
                    .timeout(TIMEOUT)
                    .start()) {
                int server = port(allowing, SERVER);
                int service = port(instance, INSTANCE);
                return measure(
                        List.of("an HTTP server that allows everything", "POST /v1/decide", "WeirClient.decide"),
                        List.of(
                                () -> http(server),
                                () -> http(service),
                                () -> number -> client.decide(RequestBuilder.of(BenchCluster.client(number % 1_000))
                                                .build())
                                        .join()));
            } finally {
                instance.destroy();
                instance.onExit().join();
                allowing.destroyForcibly().onExit().join();
            }
        }
    }

    private static Process start(List<String> options, Class<?> main, String... args) throws IOException {
        List<String> all = new ArrayList<>(JVM);
        all.addAll(options);
        return JavaProcess.of(all, main, args)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Returns the port from the output of a process. */
    private static int port(Process process, Pattern line) throws IOException {
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String text = out.readLine(); text != null; text = out.readLine()) {
            Matcher matcher = line.matcher(text);
            if (matcher.matches()) {
                return Integer.parseInt(matcher.group(1));
            }
        }
        throw new IllegalStateException("a process ended before it was ready");
    }

    private static Path configFile(WeirConfig config) throws IOException {
        Path directory = Files.createDirectories(config.state().directory());
        return Files.writeString(directory.resolve("weir.yaml"), """
                application-id: %s
                topics: {prefix: %s, partitions: %d}
                state: {directory: '%s'}
                service: {port: 0, decide-token: loopback}
                kafka: {bootstrap.servers: '%s'}
                """.formatted(
                        config.applicationId(),
                        config.topics().prefix(),
                        config.topics().partitions(),
                        directory.resolve("instance"),
                        config.kafka().get("bootstrap.servers")));
    }

    private static Caller http(int port) throws IOException {
        HttpConnection connection = new HttpConnection(port);
        String path = "/v1/decide?timeout=" + TIMEOUT.toSeconds() + "s";
        return new Caller() {
            @Override
            public void call(long number) throws Exception {
                byte[] request = HttpConnection.post(
                        path,
                        "{\"client\":\"" + BenchCluster.client(number % 1_000)
                                + "\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/articles/7\"}}");
                String answer = connection.exchange(request).requireOk().body();
                if (!answer.contains("\"ALLOWED\"")) {
                    throw new IllegalStateException(answer);
                }
            }

            @Override
            public void close() throws Exception {
                connection.close();
            }
        };
    }

    private ResultTable measure(List<String> names, List<CallerFactory> candidates) throws Exception {
        List<Histogram> latencies = new ArrayList<>();
        List<Rounds.Participant> participants = new ArrayList<>();
        for (int i = 0; i < candidates.size(); i++) {
            CallerFactory candidate = candidates.get(i);
            if (!warmUp.isZero()) {
                perSecond(candidate, warmUp, new Histogram(3));
            }
            Histogram latency = new Histogram(3);
            latencies.add(latency);
            participants.add(new Rounds.Participant(names.get(i), () -> perSecond(candidate, turn, latency)));
        }
        List<CandidateSeries> series = Rounds.run(participants, rounds, progress);
        List<ResultTable.Row> rows = new ArrayList<>();
        for (int i = 0; i < series.size(); i++) {
            rows.add(ResultTable.Row.of(
                    names.get(i),
                    series.get(i).median(),
                    latencies.get(i).getValueAtPercentile(50) / NANOS_PER_MS,
                    latencies.get(i).getValueAtPercentile(99) / NANOS_PER_MS,
                    series.get(i).ratioTo(series.get(0))));
        }
        return new ResultTable(
                "http",
                "Decisions over HTTP",
                List.of("requests/s", "p50 ms", "p99 ms", "ratio"),
                rows,
                List.of(callers + " callers, each with one request at a time; 1,000 clients; gcra"));
    }

    /** Lets all callers call for some time. Returns the calls per second. */
    private double perSecond(CallerFactory candidate, Duration time, Histogram latency) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(callers);
        try {
            long beginNanos = System.nanoTime();
            long endNanos = beginNanos + time.toNanos();
            List<Future<Histogram>> calls = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                calls.add(threads.submit(() -> callUntil(endNanos, candidate)));
            }
            long count = 0;
            for (Future<Histogram> call : calls) {
                Histogram one = call.get();
                latency.add(one);
                count += one.getTotalCount();
            }
            return count * (double) TimeUnit.SECONDS.toNanos(1) / (System.nanoTime() - beginNanos);
        } finally {
            threads.shutdownNow();
        }
    }

    private Histogram callUntil(long endNanos, CallerFactory candidate) throws Exception {
        Histogram latency = new Histogram(3);
        try (Caller caller = candidate.create()) {
            for (long now = System.nanoTime(); now < endNanos; ) {
                caller.call(numbers.incrementAndGet());
                long after = System.nanoTime();
                latency.recordValue(after - now);
                now = after;
            }
        }
        return latency;
    }
}
