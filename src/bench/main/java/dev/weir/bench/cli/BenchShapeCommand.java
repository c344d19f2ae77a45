package dev.weir.bench.cli;

import dev.weir.bench.ShapeBench;
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
        name = "shape",
        mixinStandardHelpOptions = true,
        description = {
            "Measures releases per second, and how exactly queues keep rates.",
            "Starts a broker in this process and each candidate in a separate process; the candidates run in turns."
                    + " Requests are queued before a measurement. Takes some minutes."
        })
final class BenchShapeCommand implements Callable<Integer> {

    @Option(
            names = "--queues",
            split = ",",
            description = "The numbers of queues, one candidate each (default: ${DEFAULT-VALUE}).")
    private List<Integer> queues = List.of(1, 100, 10_000);

    @Option(names = "--rounds", description = "How often each candidate is measured (default: ${DEFAULT-VALUE}).")
    private int rounds = 5;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "2s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up-releases",
            description = "The warm-up releases of each candidate (default: ${DEFAULT-VALUE}).")
    private long warmUpReleases = 500_000;

    @Option(
            names = "--pacing",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "20s",
            description = "How long the pace is measured (default: ${DEFAULT-VALUE}).")
    private Duration pacing;

    @Option(names = "--kafka", description = "A Kafka client setting of the candidates, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan plan = new RunPlan(rounds, turn, warmUpReleases);
        bench.print(new ShapeBench(plan, pacing, kafka, bench.progress()::println).run(queues));
        return 0;
    }
}
