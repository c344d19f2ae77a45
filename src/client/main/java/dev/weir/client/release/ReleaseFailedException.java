package dev.weir.client.release;

/**
 * Thrown by a handler to end a release that no other attempt can process. It is not tried again: a queue that expects
 * acknowledgements ends the request with a denial and a dead letter; otherwise the worker gives the release up.
 */
public final class ReleaseFailedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message what went wrong. The dead letter has the first 500 characters
     */
    public ReleaseFailedException(String message) {
        super(message);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param message what went wrong. The dead letter has the first 500 characters
     * @param cause the cause; null if there is none
     */
    public ReleaseFailedException(String message, Throwable cause) {
        super(message, cause);
    }
}
