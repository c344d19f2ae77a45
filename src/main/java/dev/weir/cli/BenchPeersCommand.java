package dev.weir.cli;

import dev.weir.bench.Peers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "peers",
        mixinStandardHelpOptions = true,
        description = "A decision in process, without Kafka: the algorithms against Bucket4j, Resilience4j and Guava,"
                + " and the whole core.",
        footer = {"", "Each benchmark runs in JVMs of its own, by JMH. Takes some minutes."})
final class BenchPeersCommand implements Callable<Integer> {

    @Option(names = "--only", description = "Those whose names contain a match of this regular expression.")
    private String only = "";

    @Option(names = "--rounds", description = "How many JVMs measure each (default: ${DEFAULT-VALUE}).")
    private int rounds = 3;

    @Option(
            names = "--turn",
            description = "How long an iteration lasts, of which five warm up (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(1);

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        Peers.Effort effort = new Peers.Effort(rounds, 5, 5, (int) turn.toMillis());
        bench.print(List.of(Peers.measure(only, effort, bench.progress()::println)));
        return 0;
    }
}
