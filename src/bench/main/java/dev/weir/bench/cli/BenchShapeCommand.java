package dev.weir.bench.cli;

import dev.weir.bench.RunPlan;
import dev.weir.bench.ShapeBench;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "shape",
        mixinStandardHelpOptions = true,
        description = "Releases a second of few queues and of many, and how well they keep their queues' rates.",
        footer = {
            "",
            "Starts a broker in this process, and each candidate in one of its own; they work in turns. What is released"
                    + " waits before. Takes some minutes."
        })
final class BenchShapeCommand implements Callable<Integer> {

    @Option(
            names = "--queues",
            split = ",",
            description = "How many queues there are, each a candidate (default: ${DEFAULT-VALUE}).")
    private List<Integer> queues = List.of(1, 100, 10_000);

    @Option(names = "--rounds", description = "How often each has its turn (default: ${DEFAULT-VALUE}).")
    private int rounds = 5;

    @Option(names = "--turn", description = "How long a turn lasts (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(2);

    @Option(names = "--warm-up", description = "Releases that each does before (default: ${DEFAULT-VALUE}).")
    private long warmUp = 500_000;

    @Option(names = "--pacing", description = "How long steady queues are watched (default: ${DEFAULT-VALUE}).")
    private Duration pacing = Duration.ofSeconds(20);

    @Option(names = "--kafka", description = "A setting of the candidates' Kafka clients, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan effort = new RunPlan(rounds, turn, warmUp);
        bench.print(new ShapeBench(effort, pacing, kafka, bench.progress()::println).run(queues));
        return 0;
    }
}
