package dev.weir.bench.cli;

import dev.weir.bench.ReserveBench;
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
        name = "reserve",
        mixinStandardHelpOptions = true,
        description = {
            "Measures decisions per second with and without reservations.",
            "Compares a reservation and its SETTLE with two plain requests, under the same limit. Starts a broker in"
                    + " this process, and each candidate in a separate process; they run in turns. Takes some minutes."
        })
final class BenchReserveCommand implements Callable<Integer> {

    @Option(names = "--clients", description = "The number of clients (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--algorithm", description = "The algorithm of the limit (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(
            names = "--held",
            description =
                    "How many reservations are open at all times. At 40,000 requests a second, the default is some 50"
                            + " commits (default: ${DEFAULT-VALUE}).")
    private long held = 100_000;

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
    private long warmUpRequests = 1_000_000;

    @Option(names = "--kafka", description = "A Kafka client setting of the candidates, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        RunPlan plan = new RunPlan(rounds, turn, warmUpRequests);
        bench.print(List.of(new ReserveBench(plan, kafka, bench.progress()::println).run(algorithm, clients, held)));
        return 0;
    }
}
