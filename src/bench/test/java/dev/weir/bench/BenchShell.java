package dev.weir.bench;

import dev.weir.cli.CapturedRun;

/** Runs a measurement in this process. */
final class BenchShell {

    private BenchShell() {}

    static CapturedRun run(String... args) {
        return CapturedRun.of(new BenchCommand()::run, args);
    }
}
