package dev.weir.codec;

import dev.weir.policy.Rejection;

/** Bytes that are not what they should be. */
public final class UnreadableException extends Exception {

    private static final long serialVersionUID = 1L;

    private final Rejection rejection;

    UnreadableException(Rejection rejection, Throwable cause) {
        super(cause.getMessage() == null ? "does not hold what its schema says" : cause.getMessage(), cause);
        this.rejection = rejection;
    }

    UnreadableException(Rejection rejection, String message) {
        super(message);
        this.rejection = rejection;
    }

    public Rejection rejection() {
        return rejection;
    }
}
