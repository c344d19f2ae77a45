package dev.weir.client;

import dev.weir.event.Decision;

/** Weir did not let work into the queue again. */
public final class RefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Decision decision;

    RefusedException(Decision decision, Throwable failure) {
        super("the next attempt was refused: " + decision.outcome() + ", " + decision.reason(), failure);
        this.decision = decision;
    }

    /** Weir's; null if the exception was serialized. */
    public Decision decision() {
        return decision;
    }
}
