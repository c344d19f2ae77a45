package dev.weir.bench.redis;

import dev.weir.bench.BenchCluster;
import dev.weir.bench.Candidate;
import dev.weir.bench.CandidateSeries;
import dev.weir.bench.DecideBench;
import dev.weir.bench.ResultTable;
import dev.weir.bench.Rounds;
import dev.weir.bench.RunPlan;
import dev.weir.bench.TimeSlices;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Decisions a second by GCRA: Weir's against those of a script in Redis. */
public final class RedisBench {

    /**
     * How Redis is asked.
     *
     * @param connections that ask for one decision at a time
     * @param pipelined connections that send ahead
     * @param ahead how many commands these send ahead
     */
    public record RedisClients(int connections, int pipelined, int ahead) {}

    private final Path program;
    private final RedisClients redisClients;
    private final RunPlan effort;
    private final Consumer<String> progress;
    private final TimeSlices slices;

    /**
     * What is to be measured.
     *
     * @param program redis-server
     * @param progress is told what was measured
     */
    public RedisBench(Path program, RedisClients asking, RunPlan effort, Consumer<String> progress) {
        this.program = program;
        this.redisClients = asking;
        this.effort = effort;
        this.progress = progress;
        this.slices = new TimeSlices(effort, DecideBench.FIRST_GUESS, progress);
    }

    /** @param clients of whom the k-th asks in proportion to 1/k */
    public ResultTable run(long clients) throws Exception {
        RedisLoad.LoadTerms terms = new RedisLoad.LoadTerms(DecideBench.LIMIT, DecideBench.PER_MS, clients);
        try (BenchCluster rig = new BenchCluster();
                BenchCluster.Workload workload = rig.workload(DecideBench.policyYaml("gcra"), Map.of());
                Candidate weir =
                        new Candidate("weir", Candidate.CandidateKind.DECIDE, workload.config(), DecideBench.JVM);
                RedisServer server = RedisServer.start(program);
                RedisLoad ahead = new RedisLoad(server, terms, redisClients.pipelined, redisClients.ahead);
                RedisLoad singly = new RedisLoad(server, terms, redisClients.connections, 1)) {
            List<LongUnaryOperator> zipf = List.of(DecideBench.zipf(clients, 1), DecideBench.zipf(clients, 2));
            workload.ensureRequests(effort.warmUp() * 3 / 2, zipf);
            slices.warmUp(weir, effort.warmUp());
            List<Rounds.Participant> candidates = List.of(
                    slices.participant(weir, (lane, requests) -> workload.ensureRequests(requests, zipf)),
                    participant("redis, pipelined", ahead),
                    participant("redis, one at a time", singly));
            candidates.get(1).measurement().perSecond(); // makes the keys of those who come often
            List<CandidateSeries> series = Rounds.run(candidates, effort.rounds(), progress);
            return table(series, clients, version(server));
        }
    }

    private Rounds.Participant participant(String name, RedisLoad load) {
        return new Rounds.Participant(name, () -> load.perSecond(effort.turn().toNanos()));
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
                "%,d clients, by Zipf's law, %,d a minute each; Redis %s, a script, appendfsync everysec"
                        .formatted(clients, DecideBench.LIMIT, version),
                "pipelined: %d connections, %d commands ahead on each; one at a time: %d connections"
                        .formatted(redisClients.pipelined, redisClients.ahead, redisClients.connections),
                "each server shares the machine with what feeds it: Redis with two threads that ask, Weir with its broker");
        return new ResultTable("redis", "gcra", List.of("decisions/s", "min", "max", "weir / it"), rows, notes);
    }

    private static String version(RedisServer server) throws IOException {
        try (RedisConnection connection = server.connect()) {
            return ((String) connection.ask("INFO", "server"))
                    .lines()
                    .filter(line -> line.startsWith("redis_version:"))
                    .map(line -> line.substring(line.indexOf(':') + 1))
                    .findFirst()
                    .orElse("of no version");
        }
    }
}
