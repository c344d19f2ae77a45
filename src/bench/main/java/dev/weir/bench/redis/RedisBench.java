package dev.weir.bench.redis;

import dev.weir.bench.DecideBench;
import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.candidate.TimeSlices;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.Rounds;
import dev.weir.bench.measure.RunPlan;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Compares decisions per second by GCRA of Weir and of a script in Redis. */
public final class RedisBench {

    /**
     * The connections to Redis.
     *
     * @param connections the number of connections with one outstanding command
     * @param pipelined the number of connections with several outstanding commands
     * @param ahead the number of outstanding commands on each pipelined connection
     */
    public record RedisClients(int connections, int pipelined, int ahead) {}

    private final Path program;
    private final RedisClients redisClients;
    private final RunPlan plan;
    private final Consumer<String> progress;
    private final TimeSlices slices;

    /**
     * Creates a benchmark.
     *
     * @param program the path of redis-server
     * @param progress receives a line for each measurement
     */
    public RedisBench(Path program, RedisClients asking, RunPlan plan, Consumer<String> progress) {
        this.program = program;
        this.redisClients = asking;
        this.plan = plan;
        this.progress = progress;
        this.slices = new TimeSlices(plan, DecideBench.FIRST_GUESS, progress);
    }

    /**
     * Measures Weir and Redis.
     *
     * @param clients the number of clients; the k-th sends a share of requests proportional to 1/k
     */
    public ResultTable run(long clients) throws Exception {
        RedisLoad.LoadTerms terms = new RedisLoad.LoadTerms(DecideBench.LIMIT, DecideBench.PER_MS, clients);
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload workload = cluster.workload(DecideBench.policyYaml("gcra"), Map.of());
                Candidate weir =
                        new Candidate("weir", Candidate.CandidateKind.DECIDE, workload.config(), DecideBench.JVM);
                RedisServer server = RedisServer.start(program);
                RedisLoad ahead = new RedisLoad(server, terms, redisClients.pipelined, redisClients.ahead);
                RedisLoad singly = new RedisLoad(server, terms, redisClients.connections, 1)) {
            List<LongUnaryOperator> zipf = List.of(DecideBench.zipf(clients, 1), DecideBench.zipf(clients, 2));
            workload.ensureRequests(plan.warmUp() * 3 / 2, zipf);
            slices.warmUp(weir, plan.warmUp());
            List<Rounds.Participant> candidates = List.of(
                    slices.participant(weir, (candidate, requests) -> workload.ensureRequests(requests, zipf)),
                    participant("redis, pipelined", ahead),
                    participant("redis, one at a time", singly));
            candidates.get(1).measurement().perSecond(); // creates the keys of frequent clients
            List<CandidateSeries> series = Rounds.run(candidates, plan.rounds(), progress);
            return table(series, clients, version(server));
        }
    }

    private Rounds.Participant participant(String name, RedisLoad load) {
        return new Rounds.Participant(name, () -> load.perSecond(plan.turn().toNanos()));
    }

    private ResultTable table(List<CandidateSeries> candidates, long clients, String version) {
        List<ResultTable.Row> rows = new ArrayList<>();
        for (CandidateSeries candidate : candidates) {
            rows.add(ResultTable.Row.of(
                    candidate.name(),
                    candidate.median(),
                    candidate.min(),
                    candidate.max(),
                    candidates.get(0).ratioTo(candidate)));
        }
        List<String> notes = List.of(
                "%,d clients with a Zipf distribution, %,d a minute each; Redis %s, Lua script, appendfsync everysec"
                        .formatted(clients, DecideBench.LIMIT, version),
                "pipelined: %d connections, %d outstanding commands on each; one at a time: %d connections"
                        .formatted(redisClients.pipelined, redisClients.ahead, redisClients.connections),
                "each server shares the machine with its load: Redis with two client threads, Weir with its broker");
        return new ResultTable("redis", "gcra", List.of("decisions/s", "min", "max", "weir ratio"), rows, notes);
    }

    private static String version(RedisServer server) throws IOException {
        try (RedisConnection connection = server.connect()) {
            return ((String) connection.ask("INFO", "server"))
                    .lines()
                    .filter(line -> line.startsWith("redis_version:"))
                    .map(line -> line.substring(line.indexOf(':') + 1))
                    .findFirst()
                    .orElse("(unknown version)");
        }
    }
}
