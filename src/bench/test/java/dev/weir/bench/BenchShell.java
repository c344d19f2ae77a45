package dev.weir.bench;

import dev.weir.bench.cli.BenchCommand;
import dev.weir.cli.CapturedRun;

/** Runs a command of {@code weir-bench} in this process. */
public final class BenchShell {

    private BenchShell() {}

    public static CapturedRun run(String... args) {
        return CapturedRun.of(new BenchCommand()::run, args);
    }
}
