package dev.weir.bench.cli;

import dev.weir.bench.PeerBench;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
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

    @Mixin
    private IterationOptions iterations;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        bench.print(List.of(PeerBench.measure(only, iterations.effort(), bench.progress()::println)));
        return 0;
    }
}
