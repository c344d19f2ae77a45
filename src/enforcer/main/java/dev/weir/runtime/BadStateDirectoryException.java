package dev.weir.runtime;

import java.nio.file.Path;

/** The state directory cannot be used as it is; the message is one line and says what to do. */
public final class BadStateDirectoryException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    BadStateDirectoryException(Path directory, String why, String advice) {
        super("state.directory " + directory + ": " + why + "; " + advice);
    }
}
