package dev.weir.cli;

/** Runs a command of {@code weir} in this process. */
final class Shell {

    private Shell() {}

    static CapturedRun run(String... args) {
        return CapturedRun.of(Main::execute, args);
    }
}
