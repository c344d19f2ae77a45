package dev.weir.bench.cli;

import dev.weir.bench.gateway.GatewayBench;
import dev.weir.bench.redis.RedisServer;
import dev.weir.cli.option.DurationConverter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "gateway",
        mixinStandardHelpOptions = true,
        description = {
            "Measures decisions of the gateway over gRPC and HTTP.",
            "Compares it with servers that allow everything, and with the same servers and GCRA in Redis. Starts a"
                    + " broker in this process, and an enforcer, a gateway, the servers and Redis in separate ones; the"
                    + " candidates run in turns. Takes some minutes. Without redis-server, Redis is left out."
        })
final class BenchGatewayCommand implements Callable<Integer> {

    @Option(names = "--callers", description = "The number of concurrent callers (default: ${DEFAULT-VALUE}).")
    private int callers = 50;

    @Option(names = "--clients", description = "The number of clients (default: ${DEFAULT-VALUE}).")
    private int clients = 1_000;

    @Option(
            names = "--topics-rate",
            description = "The calls per second for latencies over the topics (default: ${DEFAULT-VALUE}).")
    private long topicsRate = 1_000;

    @Option(
            names = "--redis-server",
            paramLabel = "NAME",
            description = "The Redis server on the PATH, or its path (default: ${DEFAULT-VALUE}).")
    private String redisServer = "redis-server";

    @Option(names = "--rounds", description = "How often each candidate is measured (default: ${DEFAULT-VALUE}).")
    private int rounds = 5;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "6s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up",
            paramLabel = "DURATION",
            converter = DurationConverter.OrZero.class,
            defaultValue = "15s",
            description = "The warm-up of each candidate (default: ${DEFAULT-VALUE}).")
    private Duration warmUp;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        Optional<Path> redis = RedisServer.find(redisServer);
        if (redis.isEmpty()) {
            bench.progress().println("weir-bench gateway: no " + redisServer + " on the PATH; Redis is left out");
        }
        GatewayBench.Plan plan = new GatewayBench.Plan(callers, clients, rounds, turn, warmUp, topicsRate);
        bench.print(new GatewayBench(plan, redis, bench.progress()::println).run());
        return 0;
    }
}
