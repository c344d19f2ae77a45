package dev.weir.client;

/** Weir has not decided on a request, as far as the client knows. */
public final class NoDecisionException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final NoDecisionReason reason;

    NoDecisionException(NoDecisionReason why, String message, Throwable cause) {
        super(message, cause);
        this.reason = why;
    }

    public NoDecisionReason reason() {
        return reason;
    }
}
