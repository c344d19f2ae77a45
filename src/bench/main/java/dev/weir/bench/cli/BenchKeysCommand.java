package dev.weir.bench.cli;

import dev.weir.bench.KeysBench;
import dev.weir.cli.option.DurationConverter;
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
        description = {
            "Measures a queue with a key: releases, lateness, memory and disk.",
            "Runs in this process, with RocksDB. Takes some minutes: a minute to queue a million requests."
        })
final class BenchKeysCommand implements Callable<Integer> {

    @Option(names = "--keys", split = ",", description = "The numbers of keys in use (default: ${DEFAULT-VALUE}).")
    private List<Integer> keys = List.of(1, 1_000, 10_000, 100_000, 1_000_000);

    @Option(
            names = "--waiting",
            split = ",",
            description = "The numbers of waiting requests per key (default: ${DEFAULT-VALUE}).")
    private List<Integer> waiting = List.of(1, 100);

    @Option(
            names = "--most",
            description = "The maximum number of waiting requests of a combination (default: ${DEFAULT-VALUE}).")
    private long most = 1_000_000;

    @Option(names = "--hot-keys", description = "The maximum number of keys on the heap (default: ${DEFAULT-VALUE}).")
    private int hotKeys = WeirConfig.DEFAULTS.shaping().hotKeys();

    @Option(
            names = "--turn",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "10s",
            description = "The duration of a measurement (default: ${DEFAULT-VALUE}).")
    private Duration turn;

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
