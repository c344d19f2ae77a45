package dev.weir.bench.cli;

import dev.weir.bench.jmh.PeerBench;
import dev.weir.cli.option.DurationConverter;
import java.time.Duration;
import picocli.CommandLine.Option;

/** The options for benchmarks that run with JMH. */
final class IterationOptions {

    @Option(names = "--rounds", description = "The number of JVMs for each benchmark (default: ${DEFAULT-VALUE}).")
    private int rounds = 3;

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "1s",
            description = "The duration of an iteration; the first five are the warm-up (default: ${DEFAULT-VALUE}).")
    private Duration turn;

    PeerBench.IterationPlan effort() {
        return new PeerBench.IterationPlan(rounds, (int) turn.toMillis());
    }
}
