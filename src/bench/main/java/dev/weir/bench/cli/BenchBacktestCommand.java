package dev.weir.bench.cli;

import dev.weir.bench.BacktestBench;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "backtest",
        mixinStandardHelpOptions = true,
        description = "Requests a second that a backtest decides, from a file and from memory.",
        footer = {"", "One thread in a process of its own, by the clock and by its CPU time. Takes a minute."})
final class BenchBacktestCommand implements Callable<Integer> {

    @Option(
            names = "--clients",
            description = "How many clients ask, the k-th in proportion to 1/k (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--requests", description = "How many are decided in each round (default: ${DEFAULT-VALUE}).")
    private int requests = 500_000;

    @Option(names = "--rounds", description = "How often each has its turn (default: ${DEFAULT-VALUE}).")
    private int rounds = 7;

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        BacktestBench backtest = new BacktestBench(rounds, bench.progress()::println);
        bench.print(List.of(backtest.run(requests, clients)));
        return 0;
    }
}
