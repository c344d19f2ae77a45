package dev.weir.bench.cli;

import dev.weir.bench.PeerBench;
import java.time.Duration;
import picocli.CommandLine.Option;

/** How long to measure what runs by JMH. */
final class IterationOptions {

    @Option(names = "--rounds", description = "How many JVMs measure each (default: ${DEFAULT-VALUE}).")
    private int rounds = 3;

    @Option(
            names = "--turn",
            description = "How long an iteration lasts, of which five warm up (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(1);

    PeerBench.IterationPlan effort() {
        return new PeerBench.IterationPlan(rounds, (int) turn.toMillis());
    }
}
