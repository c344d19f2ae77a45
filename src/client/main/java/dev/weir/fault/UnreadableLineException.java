package dev.weir.fault;

import java.io.IOException;

/** A line that cannot be read as text; the message begins with its place. */
public final class UnreadableLineException extends IOException {

    private static final long serialVersionUID = 1L;

    public UnreadableLineException(String message, Throwable cause) {
        super(message, cause);
    }
}
