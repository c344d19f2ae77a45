package dev.weir.bench.cli;

import dev.weir.bench.measure.RunPlan;
import dev.weir.bench.redis.RedisBench;
import dev.weir.bench.redis.RedisServer;
import dev.weir.cli.option.DurationConverter;
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
        description = {
            "Measures decisions per second by GCRA, of Weir and of Redis.",
            "Starts a broker in this process, and Weir and Redis in separate processes, which run in turns. Takes some"
                    + " minutes. Redis runs a Lua script. Without redis-server (5 or later), nothing is measured."
        })
final class BenchRedisCommand implements Callable<Integer> {

    @Option(
            names = "--redis-server",
            paramLabel = "NAME",
            description = "The Redis server on the PATH, or its path (default: ${DEFAULT-VALUE}).")
    private String redisServer = "redis-server";

    @Option(
            names = "--clients",
            description = "The number of clients; requests have a Zipf distribution (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(
            names = "--connections",
            description = "The number of connections with one outstanding command (default: ${DEFAULT-VALUE}).")
    private int connections = 50;

    @Option(
            names = "--pipelined",
            description = "The number of connections with several outstanding commands (default: ${DEFAULT-VALUE}).")
    private int pipelined = 2;

    @Option(names = "--ahead", description = "The number of outstanding commands of each (default: ${DEFAULT-VALUE}).")
    private int ahead = 500;

    @Option(names = "--rounds", description = "How often each candidate is measured (default: ${DEFAULT-VALUE}).")
    private int rounds = 7;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "4s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up-requests",
            description = "The number of warm-up requests of Weir (default: ${DEFAULT-VALUE}).")
    private long warmUpRequests = 8_000_000;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        Optional<Path> program = RedisServer.find(redisServer);
        if (program.isEmpty()) {
            bench.progress().println("weir-bench redis: no " + redisServer + " on the PATH; nothing was measured");
            return 0;
        }
        RedisBench.RedisClients asking = new RedisBench.RedisClients(connections, pipelined, ahead);
        RunPlan plan = new RunPlan(rounds, turn, warmUpRequests);
        RedisBench redis = new RedisBench(program.get(), asking, plan, bench.progress()::println);
        bench.print(List.of(redis.run(clients)));
        return 0;
    }
}
