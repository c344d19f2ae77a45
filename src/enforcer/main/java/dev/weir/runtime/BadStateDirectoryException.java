package dev.weir.runtime;

import dev.weir.fault.BadInput;
import java.nio.file.Path;

/** Thrown if the state directory cannot be used. The message is one line and includes a fix. */
public final class BadStateDirectoryException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    BadStateDirectoryException(Path directory, String why, String advice) {
        super("state.directory " + directory + ": " + why + "; " + advice);
    }
}
