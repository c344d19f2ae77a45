package dev.weir.bench.cli;

import dev.weir.bench.RunPlan;
import dev.weir.bench.redis.RedisBench;
import dev.weir.bench.redis.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "redis",
        mixinStandardHelpOptions = true,
        description = "Decisions a second by GCRA, against a script in Redis.",
        footer = {
            "",
            "Starts a broker in this process, Weir and Redis in processes of their own; they work in turns. Takes some",
            "minutes; nothing where there is no redis-server (5 or later)."
        })
final class BenchRedisCommand implements Callable<Integer> {

    @Option(
            names = "--redis-server",
            paramLabel = "NAME",
            description = "The program, which is looked for on the PATH (default: ${DEFAULT-VALUE}).")
    private String redisServer = "redis-server";

    @Option(
            names = "--clients",
            description = "How many clients ask, the k-th in proportion to 1/k (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(
            names = "--connections",
            description = "How many ask Redis for one decision at a time (default: ${DEFAULT-VALUE}).")
    private int connections = 50;

    @Option(
            names = "--pipelined",
            description = "How many connections send commands ahead (default: ${DEFAULT-VALUE}).")
    private int pipelined = 2;

    @Option(names = "--ahead", description = "How many commands these send ahead (default: ${DEFAULT-VALUE}).")
    private int ahead = 500;

    @Option(names = "--rounds", description = "How often each has its turn (default: ${DEFAULT-VALUE}).")
    private int rounds = 7;

    @Option(names = "--turn", description = "How long a turn lasts (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(4);

    @Option(names = "--warm-up", description = "Requests that Weir decides before (default: ${DEFAULT-VALUE}).")
    private long warmUp = 8_000_000;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        Optional<Path> program = RedisServer.find(redisServer);
        if (program.isEmpty()) {
            bench.progress().println("weir-bench redis: no " + redisServer + " on the PATH, so nothing is measured");
            return 0;
        }
        RedisBench.RedisClients asking = new RedisBench.RedisClients(connections, pipelined, ahead);
        RunPlan effort = new RunPlan(rounds, turn, warmUp);
        RedisBench redis = new RedisBench(program.get(), asking, effort, bench.progress()::println);
        bench.print(List.of(redis.run(clients)));
        return 0;
    }
}
