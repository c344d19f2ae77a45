package dev.weir.fault;

import java.io.IOException;

/** Indicates that a line of a file cannot be read as text. The message begins with the place. */
public final class UnreadableLineException extends IOException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message the place and what is wrong
     * @param cause the cause; null if there is none
     */
    public UnreadableLineException(String message, Throwable cause) {
        super(message, cause);
    }
}
