package dev.weir.gateway.envoy.mapping;

import io.grpc.Status;

/** Indicates a call that is not decided. Nothing was charged. */
public final class BadCallException extends Exception {

    private static final long serialVersionUID = 1L;

    private final transient Status status;

    private BadCallException(Status status) {
        super(status.getDescription(), null, false, false);
        this.status = status;
    }

    /** @param message what is wrong, with the name of the descriptor */
    public static BadCallException invalid(String message) {
        return new BadCallException(Status.INVALID_ARGUMENT.withDescription(message));
    }

    /** Returns the status that ends the call. */
    public Status status() {
        return status;
    }
}
