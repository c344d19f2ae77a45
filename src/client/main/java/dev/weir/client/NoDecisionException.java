package dev.weir.client;

/**
 * Indicates that Weir has not decided a request, as far as the client knows. The {@linkplain #getCause cause} is the
 * error of Kafka's clients, if there was one.
 */
public final class NoDecisionException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Why there is no decision. */
    private final NoDecisionReason reason;

    NoDecisionException(NoDecisionReason why, String message, Throwable cause) {
        super(message, cause);
        this.reason = why;
    }

    /**
     * Returns why there is no decision, and thereby whether the request may still be charged.
     *
     * @return the reason
     */
    public NoDecisionReason reason() {
        return reason;
    }
}
