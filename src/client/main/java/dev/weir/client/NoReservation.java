package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Reason;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** A reservation that holds nothing. */
record NoReservation(ClientDecision decision) implements Reservation {

    NoReservation {
        Objects.requireNonNull(decision);
    }

    @Override
    public CompletableFuture<Reason> settle(long actualCost) {
        if (actualCost < 0) {
            throw new IllegalArgumentException("actualCost must be 0 or more, is " + actualCost);
        }
        return nothing();
    }

    @Override
    public CompletableFuture<Reason> release() {
        return nothing();
    }

    @Override
    public CompletableFuture<Reason> cancel() {
        return nothing();
    }

    private static CompletableFuture<Reason> nothing() {
        return CompletableFuture.completedFuture(Reason.NOTHING_RESERVED);
    }

    @Override
    public void onLost(Runnable action) {}

    @Override
    public void close() {}
}
