package dev.weir.cli;

import java.io.IOException;
import java.util.Locale;

/** Thrown if standard output cannot be written, for example because the disk is full. */
final class OutputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    OutputException(IOException cause) {
        super("cannot write to standard output: " + cause.getMessage(), cause);
    }

    /** Returns whether the output is a pipe whose reader has exited, as in {@code weir policies list | head -1}. */
    boolean isClosedPipe() {
        String message = getCause().getMessage();
        return message != null && message.toLowerCase(Locale.ROOT).contains("pipe");
    }
}
