package dev.weir.console;

import dev.weir.fault.BadInput;

/** Thrown if an option or an input file is missing or invalid. The message is one line. The exit code is 2. */
public final class InputException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    public InputException(String message, Throwable cause) {
        super(message, cause);
    }
}
