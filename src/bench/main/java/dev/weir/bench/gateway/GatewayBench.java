package dev.weir.bench.gateway;

import dev.weir.bench.BenchCluster;
import dev.weir.bench.CandidateSeries;
import dev.weir.bench.ResultTable;
import dev.weir.bench.Rounds;
import dev.weir.bench.redis.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;

/**
 * Measures decisions of the gateway, by Envoy's rate limit service over gRPC and by {@code /v1/authorize} over HTTP.
 * Compares it with servers that allow everything, or what GCRA in Redis allows.
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

    private static final String ALLOWING = "a server that allows everything";
    private static final String REDIS = "the same server with GCRA in Redis";
    private static final String LEASED = "Weir, leases";
    private static final String TOPICS = "Weir, over the topics";

    private static final Pattern PEER = Pattern.compile("ports (\\d+) (\\d+)");
    private static final double NANOS_PER_MS = 1e6;

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
            List<ResultTable> tables = new ArrayList<>();
            for (Protocol protocol : Protocol.values()) {
                try (ProtocolLoads loads = new ProtocolLoads(protocol)) {
                    loads.add(ALLOWING, protocol.port(allowingPorts), WeirProcesses.LEASED);
                    if (redisPorts != null) {
                        loads.add(REDIS, protocol.port(redisPorts), WeirProcesses.LEASED);
                    }
                    loads.add(LEASED, protocol.port(weir.ports()), WeirProcesses.LEASED);
                    loads.add(TOPICS, protocol.port(weir.ports()), WeirProcesses.TOPICS);
                    tables.addAll(loads.measure());
                }
            }
            return tables;
        }
    }

    /** The callers of all candidates with one protocol. */
    private final class ProtocolLoads implements AutoCloseable {

        private final Protocol protocol;
        private final Map<String, CallerLoad> loads = new LinkedHashMap<>();
        private final List<GrpcCallers> channels = new ArrayList<>();

        ProtocolLoads(Protocol protocol) {
            this.protocol = protocol;
        }

        void add(String name, int port, String domain) {
            GatewayCaller.Factory factory;
            if (protocol == Protocol.GRPC) {
                GrpcCallers grpc = new GrpcCallers(port, CONNECTIONS, domain, plan.clients);
                channels.add(grpc);
                factory = grpc;
            } else {
                factory = new HttpCallers(port, "/" + domain, plan.clients);
            }
            loads.put(name, new CallerLoad(factory, plan.callers, plan.clients));
        }

        List<ResultTable> measure() throws Exception {
            for (Map.Entry<String, CallerLoad> load : loads.entrySet()) {
                double perSecond = load.getValue().perSecond(plan.warmUp);
                progress.accept("%s, %s: warmed up, %,.0f/s".formatted(protocol.title, load.getKey(), perSecond));
            }
            List<Rounds.Participant> participants = new ArrayList<>();
            loads.forEach(
                    (name, load) -> participants.add(new Rounds.Participant(name, () -> load.perSecond(plan.turn))));
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
                    Histogram histogram = loads.get(name).latencies(perSecond, plan.turn);
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
