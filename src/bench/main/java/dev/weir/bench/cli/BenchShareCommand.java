package dev.weir.bench.cli;

import dev.weir.bench.RunPlan;
import dev.weir.bench.ShareBench;
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
        description = "Decisions a second by one limit, and by one that all clients share beside it.",
        footer = {
            "",
            "Starts a broker in this process, and each candidate in one of its own; they work in turns. Takes some minutes."
        })
final class BenchShareCommand implements Callable<Integer> {

    @Option(
            names = "--clients",
            description = "How many clients ask, the k-th in proportion to 1/k (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--algorithm", description = "What decides (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(
            names = "--key",
            split = ",",
            description = "The fields by which the shared limit counts (default: none, all requests together).")
    private List<String> key = List.of();

    @Option(names = "--rounds", description = "How often each has its turn (default: ${DEFAULT-VALUE}).")
    private int rounds = 7;

    @Option(names = "--turn", description = "How long a turn lasts (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(4);

    @Option(names = "--warm-up", description = "Requests that each does before (default: ${DEFAULT-VALUE}).")
    private long warmUp = 4_000_000;

    @Option(names = "--kafka", description = "A setting of the candidates' Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan effort = new RunPlan(rounds, turn, warmUp);
        bench.print(List.of(new ShareBench(effort, kafka, bench.progress()::println).run(algorithm, clients, key)));
        return 0;
    }
}
