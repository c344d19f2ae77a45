package dev.weir.bench.cli;

import dev.weir.bench.jmh.PeerBench;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "peers",
        mixinStandardHelpOptions = true,
        description = {
            "Measures decisions without Kafka, of Weir and of other libraries.",
            "Measures the algorithms, the complete core, Bucket4j, Resilience4j and Guava. JMH runs each benchmark in"
                    + " separate JVMs. Takes some minutes."
        })
final class BenchPeersCommand implements Callable<Integer> {

    @Option(names = "--only", description = "Run only benchmarks whose names match this regular expression.")
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
