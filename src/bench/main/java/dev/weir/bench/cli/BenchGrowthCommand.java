package dev.weir.bench.cli;

import dev.weir.bench.GrowthBench;
import dev.weir.bench.PeerBench;
import dev.weir.bench.RestoreBench;
import dev.weir.bench.ResultTable;
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
        description = "What a decision, a release and a start cost as something grows, against the smallest.",
        footer = {
            "",
            "Decisions and releases are measured in process, by JMH, each in JVMs of their own; starts with a broker in this",
            "process. Takes half an hour. How decisions a second go with the clients: bench decide --clients."
        })
final class BenchGrowthCommand implements Callable<Integer> {

    @Option(names = "--of", split = ",", description = "What grows: ${COMPLETION-CANDIDATES} (default: all).")
    private List<GrowthBench.GrowthFactor> of = List.of(GrowthBench.GrowthFactor.values());

    @Option(names = "--most", description = "Larger sizes of these are left out (default: ${DEFAULT-VALUE}).")
    private int most = 1_000_000;

    @Option(
            names = "--keys",
            description =
                    "How many clients' states an instance restores that starts, 0: none (default: ${DEFAULT-VALUE}).")
    private long keys = 1_000_000;

    @Mixin
    private IterationOptions iterations;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        PeerBench.IterationPlan effort = iterations.effort();
        GrowthBench growth = new GrowthBench(effort, most, bench.progress()::println);
        List<ResultTable> tables = new ArrayList<>();
        for (GrowthBench.GrowthFactor each : of) {
            tables.add(growth.run(each));
        }
        if (keys > 0) {
            tables.add(new RestoreBench(effort.rounds(), bench.progress()::println).run(keys));
        }
        bench.print(tables);
        return 0;
    }
}
