package dev.weir.bench.cli;

import dev.weir.bench.DecideBench;
import dev.weir.bench.LatencyBench;
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
        name = "latency",
        mixinStandardHelpOptions = true,
        description = {
            "Measures the time from a request to its decision.",
            "Compares Weir with a topology that only forwards requests. Starts a broker in this process, and each"
                    + " candidate in a separate process; the candidates run in turns, at a steady rate. A latency is"
                    + " measured from when a request is due, even if it is sent later. Takes some minutes."
        })
final class BenchLatencyCommand implements Callable<Integer> {

    @Option(names = "--rates", split = ",", description = "The rates in requests/s (default: ${DEFAULT-VALUE}).")
    private List<Long> rates = List.of(1_000L, 10_000L);

    @Option(
            names = "--clients",
            description = "The number of clients; requests have a Zipf distribution (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--algorithm", description = "The algorithm of the limit (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sliding-window-counter";

    @Option(names = "--rounds", description = "How often each rate is measured (default: ${DEFAULT-VALUE}).")
    private int rounds = 5;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "10s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    @Option(
            names = "--warm-up",
            paramLabel = "DURATION",
            converter = DurationConverter.OrZero.class,
            defaultValue = "20s",
            description = "The warm-up at the highest rate (default: ${DEFAULT-VALUE}).")
    private Duration warmUp;

    @Option(names = "--kafka", description = "A Kafka client setting of the candidates, as KEY=VALUE.")
    private Map<String, String> kafka = new LinkedHashMap<>();

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        LatencyBench.LatencyPlan plan = new LatencyBench.LatencyPlan(rounds, turn, warmUp);
        LatencyBench latency = new LatencyBench(plan, rates, kafka, bench.progress()::println);
        bench.print(List.of(
                latency.run(new LatencyBench.LatencyLoad(algorithm, DecideBench.policyYaml(algorithm), clients))));
        return 0;
    }
}
