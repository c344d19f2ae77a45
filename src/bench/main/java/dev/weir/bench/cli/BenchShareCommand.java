package dev.weir.bench.cli;

import dev.weir.bench.ShareBench;
import dev.weir.bench.measure.RunPlan;
import dev.weir.cli.option.DurationConverter;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "share",
        mixinStandardHelpOptions = true,
        description = {
            "Measures decisions per second with and without a shared limit.",
            "Compares a limit per client with the same limit and an additional shared one. Starts a broker in this"
                    + " process, and each candidate in a separate process; they run in turns. Takes some minutes."
        })
final class BenchShareCommand implements Callable<Integer> {

    @Option(
            names = "--clients",
            description = "The number of clients; requests have a Zipf distribution (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--algorithm", description = "The algorithm of the limit (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(
            names = "--key",
            split = ",",
            description = "The key fields of the shared limit (default: none, one limit for all requests).")
    private List<String> key = List.of();

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
            description = "The warm-up requests of each candidate (default: ${DEFAULT-VALUE}).")
    private long warmUpRequests = 4_000_000;

    @Option(names = "--kafka", description = "A Kafka client setting of the candidates, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan plan = new RunPlan(rounds, turn, warmUpRequests);
        bench.print(List.of(new ShareBench(plan, kafka, bench.progress()::println).run(algorithm, clients, key)));
        return 0;
    }
}
