package dev.weir.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * The output of a command and its exit code.
 *
 * @param exit the exit code
 * @param out what the command printed on standard output
 * @param err what the command printed on standard error
 */
public record CapturedRun(int exit, String out, String err) {

    /** A command that runs in this process. */
    @FunctionalInterface
    public interface Program {
        /** Runs the command. Returns its exit code. */
        int run(PrintWriter out, PrintWriter err, String... args);
    }

    /** Runs a command to its end. */
    public static CapturedRun of(Program program, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exit = program.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
        return new CapturedRun(exit, out.toString(), err.toString());
    }
}
