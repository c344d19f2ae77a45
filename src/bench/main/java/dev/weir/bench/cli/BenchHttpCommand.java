package dev.weir.bench.cli;

import dev.weir.bench.HttpBench;
import dev.weir.cli.option.DurationConverter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "http",
        mixinStandardHelpOptions = true,
        description = {
            "Measures decisions over HTTP.",
            "Compares an instance with an HTTP server that allows everything, and with WeirClient. Starts a broker in"
                    + " this process; the candidates run in turns. Takes some minutes."
        })
final class BenchHttpCommand implements Callable<Integer> {

    @Option(names = "--connections", description = "The number of connections (default: ${DEFAULT-VALUE}).")
    private int connections = 50;

    @Option(names = "--rounds", description = "How often each candidate is measured (default: ${DEFAULT-VALUE}).")
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
            description = "The warm-up of each candidate (default: ${DEFAULT-VALUE}).")
    private Duration warmUp;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        HttpBench http = new HttpBench(connections, rounds, turn, warmUp, bench.progress()::println);
        bench.print(List.of(http.run()));
        return 0;
    }
}
