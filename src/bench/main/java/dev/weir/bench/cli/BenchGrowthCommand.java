package dev.weir.bench.cli;

import dev.weir.bench.GrowthBench;
import dev.weir.bench.RestoreBench;
import dev.weir.bench.jmh.PeerBench;
import dev.weir.bench.measure.ResultTable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "growth",
        mixinStandardHelpOptions = true,
        description = {
            "Measures how the costs of decisions, releases and starts grow.",
            "Compares each size with the smallest. JMH measures decisions and releases without Kafka in separate JVMs;"
                    + " starts use a broker in this process. Takes half an hour. For decisions per second by number of"
                    + " clients, use decide --clients."
        })
final class BenchGrowthCommand implements Callable<Integer> {

    @Option(names = "--of", split = ",", description = "The factors: ${COMPLETION-CANDIDATES} (default: all).")
    private List<GrowthBench.GrowthFactor> of = List.of(GrowthBench.GrowthFactor.values());

    @Option(names = "--most", description = "The maximum size of a factor (default: ${DEFAULT-VALUE}).")
    private int most = 1_000_000;

    @Option(
            names = "--keys",
            description = "The number of clients whose states an instance restores; 0 omits this measurement"
                    + " (default: ${DEFAULT-VALUE}).")
    private long keys = 1_000_000;

    @Mixin
    private IterationOptions iterations;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        PeerBench.IterationPlan plan = iterations.effort();
        GrowthBench growth = new GrowthBench(plan, most, bench.progress()::println);
        List<ResultTable> tables = new ArrayList<>();
        for (GrowthBench.GrowthFactor each : of) {
            tables.add(growth.run(each));
        }
        if (keys > 0) {
            tables.add(new RestoreBench(plan.rounds(), bench.progress()::println).run(keys));
        }
        bench.print(tables);
        return 0;
    }
}
