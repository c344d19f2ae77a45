package dev.weir.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/** What a command printed, and its exit code. */
public record CapturedRun(int exit, String out, String err) {

    /** A command line that runs in this process. */
    @FunctionalInterface
    public interface Program {
        int run(PrintWriter out, PrintWriter err, String... args);
    }

    /** Runs a program to its end. */
    public static CapturedRun of(Program program, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exit = program.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
        return new CapturedRun(exit, out.toString(), err.toString());
    }
}
