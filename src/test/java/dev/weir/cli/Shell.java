package dev.weir.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Runs a command in this process. */
final class Shell {

    /** What a command printed and how it ended. */
    record Result(int exit, String out, String err) {}

    private Shell() {}

    static Result run(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exit = Main.execute(new PrintWriter(out, true), new PrintWriter(err, true), args);
        return new Result(exit, out.toString(), err.toString());
    }
}
