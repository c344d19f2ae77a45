package dev.weir.fault;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;

/** Indicates that a line of a file cannot be read as text. The message begins with the place. */
public final class UnreadableLineException extends IOException implements BadInput {

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

    /**
     * Returns whether the lines after this one can be read.
     *
     * @return whether the line is not valid UTF-8; otherwise the end of the line was not found
     */
    public boolean isSkippable() {
        return getCause() instanceof CharacterCodingException;
    }
}
