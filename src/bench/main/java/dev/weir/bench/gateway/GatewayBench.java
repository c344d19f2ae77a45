package dev.weir.bench.gateway;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.Rounds;
import dev.weir.bench.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;

/**
 * Measures decisions of the gateway, by Envoy's rate limit service over gRPC and by {@code /v1/authorize} over HTTP.
 * Compares it with servers that allow everything, or what GCRA in Redis allows.
 *
 * <p>Each measurement follows a second of the same load. That of leases is repeated until 99.9 % of its requests find a
 * lease, since the other candidates are measured for longer than a lease lasts. At the end, the enforcer is paused: no
 * request may wait longer than its timeout.
 */
public final class GatewayBench {

    /**
     * How to measure.
     *
     * @param callers the number of callers, each with one request at a time
     * @param clients the number of clients
     * @param rounds how often each candidate is measured
     * @param turn the duration of a measurement
     * @param warmUp the duration of the warm-up of each candidate
     * @param topicsRate the calls per second for latencies of decisions over the topics
     */
    public record Plan(int callers, int clients, int rounds, Duration turn, Duration warmUp, long topicsRate) {}

    private static final int CONNECTIONS = 2; // of gRPC: one for each thread of an Envoy with two

    private static final int WARM_UPS = 2; // parts of the warm-up: compilers are still busy after the first
    private static final Duration LEAD_IN = Duration.ofSeconds(1);
    private static final int MAX_LEAD_INS = 30;

    /** The share of requests that must find a lease. */
    private static final double SETTLED_SHARE = 0.999;

    private static final String ALLOWING = "a server that allows everything";
    private static final String REDIS = "the same server with GCRA in Redis";
    private static final String LEASED = "Weir, leases";
    private static final String TOPICS = "Weir, over the topics";

    private static final Pattern PEER = Pattern.compile("ports (\\d+) (\\d+)");
    private static final double NANOS_PER_MS = 1e6;
    private static final double MS_PER_SECOND = 1e3;

    private final Plan plan;
    private final Optional<Path> redisProgram;
    private final Consumer<String> progress;

    /** A protocol, and the index of its port where a process prints both. */
    private enum Protocol {
        GRPC("gRPC"),
        HTTP("HTTP");

        private final String title;

        Protocol(String title) {
            this.title = title;
        }

        int port(Matcher ports) {
            return Integer.parseInt(ports.group(1 + ordinal()));
        }
    }

    /**
     * Creates a benchmark.
     *
     * @param redisProgram the path of redis-server; empty to leave Redis out
     * @param progress receives a line for each measurement
     */
    public GatewayBench(Plan plan, Optional<Path> redisProgram, Consumer<String> progress) {
        this.plan = plan;
        this.redisProgram = redisProgram;
        this.progress = progress;
    }

    /** Measures all candidates with both protocols. */
    public List<ResultTable> run() throws Exception {
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload workload = cluster.workload(WeirProcesses.POLICIES, Map.of());
                RedisServer redis = redisProgram.isPresent() ? RedisServer.start(redisProgram.get()) : null;
                ServerProcess allowing = new ServerProcess(GatewayPeer.class);
                ServerProcess withRedis =
                        redis == null ? null : new ServerProcess(GatewayPeer.class, String.valueOf(redis.port()));
                WeirProcesses weir = WeirProcesses.start(workload.config())) {
            Matcher allowingPorts = allowing.awaitLine(PEER);
            Matcher redisPorts = withRedis == null ? null : withRedis.awaitLine(PEER);
            try (ProtocolLoads grpc = new ProtocolLoads(Protocol.GRPC);
                    ProtocolLoads http = new ProtocolLoads(Protocol.HTTP)) {
                for (ProtocolLoads loads : List.of(grpc, http)) {
                    loads.add(ALLOWING, allowingPorts, WeirProcesses.LEASED, () -> true);
                    if (redisPorts != null) {
                        loads.add(REDIS, redisPorts, WeirProcesses.LEASED, () -> true);
                    }
                    LeaseWaits waits = new LeaseWaits(Protocol.HTTP.port(weir.ports()));
                    loads.add(
                            LEASED,
                            weir.ports(),
                            WeirProcesses.LEASED,
                            () -> waits.shareDecidedAtOnce() >= SETTLED_SHARE);
                    loads.add(TOPICS, weir.ports(), WeirProcesses.TOPICS, () -> true);
                }
                for (int i = 0; i < WARM_UPS; i++) {
                    grpc.warmUp();
                    http.warmUp();
                }
                List<ResultTable> tables = new ArrayList<>(grpc.measure());
                tables.addAll(http.measure());
                weir.pauseEnforcer();
                tables.add(measureOutage(
                        grpc.load(weir.ports(), WeirProcesses.OUTAGE), http.load(weir.ports(), WeirProcesses.OUTAGE)));
                return tables;
            }
        }
    }

    /**
     * Measures both protocols at the same time, since they have one circuit: it opens after some requests without a
     * decision, and further ones do not wait.
     */
    private ResultTable measureOutage(CallerLoad grpc, CallerLoad http) throws Exception {
        double perSecond = plan.callers / (2 * WeirProcesses.TIMEOUT.toMillis() / MS_PER_SECOND);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            Future<Histogram> ofHttp = other.submit(() -> http.latencies(perSecond, plan.turn));
            Histogram ofGrpc = grpc.latencies(perSecond, plan.turn);
            return new ResultTable(
                    "gateway",
                    "enforcer paused, timeout %d ms".formatted(WeirProcesses.TIMEOUT.toMillis()),
                    List.of("calls", "p50 ms", "p99 ms", "longest ms"),
                    List.of(waits(Protocol.GRPC, ofGrpc), waits(Protocol.HTTP, ofHttp.get())),
                    List.of("from when a call is due to the answer of the fallback; %.0f calls/s each"
                            .formatted(perSecond)));
        } finally {
            other.shutdownNow();
        }
    }

    private static ResultTable.Row waits(Protocol protocol, Histogram nanos) {
        return ResultTable.Row.of(
                protocol.title,
                nanos.getTotalCount(),
                nanos.getValueAtPercentile(50) / NANOS_PER_MS,
                nanos.getValueAtPercentile(99) / NANOS_PER_MS,
                nanos.getMaxValue() / NANOS_PER_MS);
    }

    /** A condition that a candidate meets when its load has lasted for some time. */
    private interface Settled {
        boolean isSettled() throws IOException, InterruptedException;
    }

    /** The load of a candidate, measured when it is settled. */
    private final class SettledLoad {

        private final String name;
        private final CallerLoad load;
        private final Settled settled;

        SettledLoad(String name, CallerLoad load, Settled settled) {
            this.name = name;
            this.load = load;
            this.settled = settled;
        }

        double perSecond(Duration time) throws Exception {
            return load.perSecond(time);
        }

        double settledPerSecond() throws Exception {
            settle(() -> load.perSecond(LEAD_IN));
            return load.perSecond(plan.turn);
        }

        Histogram settledLatencies(double perSecond) throws Exception {
            settle(() -> load.latencies(perSecond, LEAD_IN));
            return load.latencies(perSecond, plan.turn);
        }

        private void settle(Callable<?> leadIn) throws Exception {
            settled.isSettled(); // what was before does not count
            for (int i = 1; i <= MAX_LEAD_INS; i++) {
                leadIn.call();
                if (settled.isSettled()) {
                    if (i > 1) {
                        progress.accept("%s: settled after %d s".formatted(name, i * LEAD_IN.toSeconds()));
                    }
                    return;
                }
            }
            throw new IllegalStateException(
                    "%s: not settled after %d s".formatted(name, MAX_LEAD_INS * LEAD_IN.toSeconds()));
        }
    }

    /** The callers of all candidates with one protocol. */
    private final class ProtocolLoads implements AutoCloseable {

        private final Protocol protocol;
        private final Map<String, SettledLoad> loads = new LinkedHashMap<>();
        private final List<GrpcCallers> channels = new ArrayList<>();

        ProtocolLoads(Protocol protocol) {
            this.protocol = protocol;
        }

        void add(String name, Matcher ports, String domain, Settled settled) {
            loads.put(name, new SettledLoad(name, load(ports, domain), settled));
        }

        CallerLoad load(Matcher ports, String domain) {
            int port = protocol.port(ports);
            GatewayCaller.Factory factory;
            if (protocol == Protocol.GRPC) {
                GrpcCallers grpc = new GrpcCallers(port, CONNECTIONS, domain, plan.clients);
                channels.add(grpc);
                factory = grpc;
            } else {
                factory = new HttpCallers(port, "/" + domain, plan.clients);
            }
            return new CallerLoad(factory, plan.callers, plan.clients);
        }

        void warmUp() throws Exception {
            for (Map.Entry<String, SettledLoad> load : loads.entrySet()) {
                double perSecond = load.getValue().perSecond(plan.warmUp.dividedBy(WARM_UPS));
                progress.accept("%s, %s: warmed up, %,.0f/s".formatted(protocol.title, load.getKey(), perSecond));
            }
        }

        List<ResultTable> measure() throws Exception {
            List<Rounds.Participant> participants = new ArrayList<>();
            loads.forEach((name, load) -> participants.add(new Rounds.Participant(name, load::settledPerSecond)));
            List<CandidateSeries> series = Rounds.run(participants, plan.rounds, progress);
            double half = series.get(series.size() - 2).median() / 2;
            List<String> leased = List.copyOf(loads.keySet()).subList(0, loads.size() - 1);
            return List.of(
                    maximum(series), latencies(leased, half), latencies(List.of(ALLOWING, TOPICS), plan.topicsRate));
        }

        private ResultTable maximum(List<CandidateSeries> series) {
            List<ResultTable.Row> rows = new ArrayList<>();
            for (CandidateSeries one : series) {
                rows.add(
                        ResultTable.Row.of(one.name(), one.median(), one.min(), one.max(), one.ratioTo(series.get(0))));
            }
            return new ResultTable(
                    "gateway",
                    protocol.title + ", as fast as possible",
                    List.of("calls/s", "min", "max", "ratio"),
                    rows,
                    List.of("%d callers, each with one call at a time; %,d clients; gcra"
                            .formatted(plan.callers, plan.clients)));
        }

        private ResultTable latencies(List<String> names, double perSecond) throws Exception {
            Map<String, List<Double>> medians = new LinkedHashMap<>();
            Map<String, List<Double>> tails = new LinkedHashMap<>();
            for (int round = 0; round < plan.rounds; round++) {
                for (int i = 0; i < names.size(); i++) {
                    String name = names.get(round % 2 == 0 ? i : names.size() - 1 - i);
                    Histogram histogram = loads.get(name).settledLatencies(perSecond);
                    add(medians, name, histogram.getValueAtPercentile(50));
                    add(tails, name, histogram.getValueAtPercentile(99));
                    progress.accept("%s, %s, %,.0f/s: p99 %.2f ms"
                            .formatted(
                                    protocol.title,
                                    name,
                                    perSecond,
                                    histogram.getValueAtPercentile(99) / NANOS_PER_MS));
                }
            }
            List<ResultTable.Row> rows = new ArrayList<>();
            for (String name : names) {
                CandidateSeries tail = new CandidateSeries(name, tails.get(name));
                rows.add(ResultTable.Row.of(
                        name,
                        new CandidateSeries(name, medians.get(name)).median(),
                        added(medians, name).median(),
                        tail.median(),
                        tail.min(),
                        tail.max(),
                        added(tails, name).median()));
            }
            return new ResultTable(
                    "gateway",
                    "%s, %,.0f calls/s".formatted(protocol.title, perSecond),
                    List.of("p50 ms", "added", "p99 ms", "min", "max", "added"),
                    rows,
                    List.of(
                            "from when a call is due to its answer; medians of %d rounds of %.0f s; added: to the server"
                                            .formatted(plan.rounds, plan.turn.toMillis() / 1e3)
                                    + " that allows everything, in the same round"));
        }

        private static void add(Map<String, List<Double>> to, String name, long nanos) {
            to.computeIfAbsent(name, unused -> new ArrayList<>()).add(nanos / NANOS_PER_MS);
        }

        /** Returns the differences to the server that allows everything, round by round. */
        private static CandidateSeries added(Map<String, List<Double>> values, String name) {
            List<Double> differences = new ArrayList<>();
            for (int round = 0; round < values.get(name).size(); round++) {
                differences.add(
                        values.get(name).get(round) - values.get(ALLOWING).get(round));
            }
            return new CandidateSeries(name, differences);
        }

        @Override
        public void close() {
            channels.forEach(GrpcCallers::close);
        }
    }
}
