package dev.weir.cli;

import java.io.IOException;
import java.io.PrintWriter;

/** Standard output takes no more, as when its reader has ended. */
final class OutputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    OutputException(IOException cause) {
        super("cannot write to standard output", cause);
    }

    /** Throws if something could not be written; a PrintWriter keeps that to itself. */
    static void check(PrintWriter out) {
        if (out.checkError()) {
            throw new OutputException(null);
        }
    }
}
