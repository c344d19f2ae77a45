package dev.weir.app;

/** The cluster cannot be reached or does not do what it was asked; the message is for the user. */
public final class UnreachableException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public UnreachableException(String message, Throwable cause) {
        super(message, cause);
    }
}
