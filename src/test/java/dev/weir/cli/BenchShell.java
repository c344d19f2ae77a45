package dev.weir.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Runs a measurement in this process. */
final class BenchShell {

    /** What a command printed, and its exit code. */
    record Result(int exit, String out, String err) {}

    private BenchShell() {}

    static Result run(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exit = new BenchCommand().run(new PrintWriter(out, true), new PrintWriter(err, true), args);
        return new Result(exit, out.toString(), err.toString());
    }
}
