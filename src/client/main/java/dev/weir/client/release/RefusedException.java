package dev.weir.client.release;

import dev.weir.event.Decision;

/**
 * Indicates that Weir denied the next attempt of a release. The {@linkplain #getCause cause} is the failure of the
 * attempt before.
 */
public final class RefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Decision decision;

    RefusedException(Decision decision, Throwable failure) {
        super("Weir denied the next attempt: " + decision.outcome() + ", " + decision.reason(), failure);
        this.decision = decision;
    }

    /**
     * Returns the decision that denied the attempt.
     *
     * @return the decision; null if the exception was deserialized
     */
    public Decision decision() {
        return decision;
    }
}
