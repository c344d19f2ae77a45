package dev.weir.bench.cli;

import dev.weir.bench.DecideBench;
import dev.weir.bench.LatencyBench;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "latency",
        mixinStandardHelpOptions = true,
        description = "The time from a request to its decision, against a topology that only passes requests through.",
        footer = {
            "",
            "Starts a broker in this process, and each candidate in one of its own; they work in turns, at a steady"
                    + " rate. A request counts from when it is due, also if it cannot be sent then. Takes some minutes."
        })
final class BenchLatencyCommand implements Callable<Integer> {

    @Option(names = "--rates", split = ",", description = "Requests a second (default: ${DEFAULT-VALUE}).")
    private List<Long> rates = List.of(1_000L, 10_000L);

    @Option(
            names = "--clients",
            description = "How many clients ask, the k-th in proportion to 1/k (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--algorithm", description = "What decides (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(names = "--rounds", description = "How often each has its turn at each rate (default: ${DEFAULT-VALUE}).")
    private int rounds = 5;

    @Option(names = "--seconds", description = "How long a turn lasts (default: ${DEFAULT-VALUE}).")
    private long seconds = 10;

    @Option(
            names = "--warm-up",
            description = "Seconds at the highest rate that each has had before (default: ${DEFAULT-VALUE}).")
    private long warmUp = 20;

    @Option(names = "--kafka", description = "A setting of the candidates' Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        LatencyBench.LatencyPlan effort =
                new LatencyBench.LatencyPlan(rounds, Duration.ofSeconds(seconds), Duration.ofSeconds(warmUp));
        LatencyBench latency = new LatencyBench(effort, rates, kafka, bench.progress()::println);
        bench.print(List.of(
                latency.run(new LatencyBench.LatencyLoad(algorithm, DecideBench.policyYaml(algorithm), clients))));
        return 0;
    }
}
