package dev.weir.cli;

import java.io.IOException;
import java.io.PrintWriter;

/** Thrown if standard output cannot be written, for example because the reader of a pipe has exited. */
final class OutputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    OutputException(IOException cause) {
        super("cannot write to standard output", cause);
    }

    /** Throws if a write to a {@link PrintWriter} failed: the writer itself throws nothing. */
    static void check(PrintWriter out) {
        if (out.checkError()) {
            throw new OutputException(null);
        }
    }
}
