package dev.weir.console;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Thrown if standard output cannot be written, for example because the disk is full. */
public final class OutputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public OutputException(IOException cause) {
        super("cannot write to standard output: " + cause.getMessage(), cause);
    }

    /** Returns whether the output is a pipe whose reader has exited, as in {@code weir policies list | head -1}. */
    public boolean isClosedPipe() {
        String message = getCause().getMessage();
        return isPipe() || message != null && message.toLowerCase(Locale.ROOT).contains("pipe");
    }

    /** Returns whether Linux says that the output is a pipe. The system's messages can be in any language. */
    private static boolean isPipe() {
        try {
            String output = Files.readSymbolicLink(Path.of("/proc/self/fd/1")).toString();
            return output.startsWith("pipe:") || output.startsWith("socket:");
        } catch (IOException e) {
            return false; // another system
        }
    }
}
