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
        description = {
            "Measures the requests per second of a backtest.",
            "Reads requests from a file or from memory, with one thread in a separate process. Reports requests per"
                    + " second and per CPU second. Takes a minute."
        })
final class BenchBacktestCommand implements Callable<Integer> {

    @Option(
            names = "--clients",
            description = "The number of clients; requests have a Zipf distribution (default: ${DEFAULT-VALUE}).")
    private long clients = 100_000;

    @Option(names = "--requests", description = "The number of requests in each round (default: ${DEFAULT-VALUE}).")
    private int requests = 500_000;

    @Option(names = "--rounds", description = "How often each mode is measured (default: ${DEFAULT-VALUE}).")
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
