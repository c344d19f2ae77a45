package dev.weir.bench.cli;

import dev.weir.bench.KeysBench;
import dev.weir.config.WeirConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "keys",
        mixinStandardHelpOptions = true,
        description = "Releases a second of a queue with a key, how late they are, and what the keys take.",
        footer = {
            "",
            "Runs in this process, on RocksDB. Takes some minutes; filling takes a minute for a million requests."
        })
final class BenchKeysCommand implements Callable<Integer> {

    @Option(names = "--keys", split = ",", description = "How many keys are in use (default: ${DEFAULT-VALUE}).")
    private List<Integer> keys = List.of(1, 1_000, 10_000, 100_000, 1_000_000);

    @Option(
            names = "--waiting",
            split = ",",
            description = "How many requests wait in each key (default: ${DEFAULT-VALUE}).")
    private List<Integer> waiting = List.of(1, 100);

    @Option(
            names = "--most",
            description = "Combinations in which more requests wait are left out (default: ${DEFAULT-VALUE}).")
    private long most = 1_000_000;

    @Option(names = "--hot-keys", description = "How many keys are on the heap at most (default: ${DEFAULT-VALUE}).")
    private int hotKeys = WeirConfig.DEFAULTS.shaping().hotKeys();

    @Option(names = "--turn", description = "How long releases are measured (default: ${DEFAULT-VALUE}).")
    private Duration turn = Duration.ofSeconds(10);

    @ParentCommand
    private BenchCommand bench;

    @Override
    public Integer call() throws Exception {
        List<KeysBench.Size> sizes = new ArrayList<>();
        for (int each : waiting) {
            for (int number : keys) {
                KeysBench.Size size = new KeysBench.Size(number, each);
                if (size.requests() <= most) {
                    sizes.add(size);
                }
            }
        }
        bench.print(new KeysBench(hotKeys, turn, bench.progress()::println).run(sizes));
        return 0;
    }
}
