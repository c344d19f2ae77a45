package dev.weir.client.decision;

/**
 * Indicates that Weir has not decided a request, as far as the client knows. The {@linkplain #getCause cause} is the
 * error of Kafka's clients, if there was one.
 */
public final class NoDecisionException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Why there is no decision. */
    private final NoDecisionReason reason;

    /**
     * Creates an exception.
     *
     * @param reason why there is no decision
     * @param message what has happened
     * @param cause the error of Kafka's clients; null if there was none
     */
    public NoDecisionException(NoDecisionReason reason, String message, Throwable cause) {
        super(message, cause);
        this.reason = reason;
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
