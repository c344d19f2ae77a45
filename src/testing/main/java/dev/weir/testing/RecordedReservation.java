package dev.weir.testing;

import dev.weir.client.Reservation;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Reason;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/** A reservation without Weir that records how it was ended. */
public final class RecordedReservation implements Reservation {

    private final ClientDecision decision;
    private final List<Reason> ends = new CopyOnWriteArrayList<>();

    public RecordedReservation(ClientDecision decision) {
        this.decision = decision;
    }

    /** Returns how it was ended, for each call. */
    public List<Reason> ends() {
        return ends;
    }

    /** Returns whether it was released, and not ended in another way before. */
    public boolean isReleased() {
        return !ends.isEmpty() && ends.get(0) == Reason.RELEASED;
    }

    @Override
    public ClientDecision decision() {
        return decision;
    }

    @Override
    public CompletableFuture<Reason> settle(long actualCost) {
        return end(Reason.SETTLED);
    }

    @Override
    public CompletableFuture<Reason> release() {
        return end(Reason.RELEASED);
    }

    @Override
    public CompletableFuture<Reason> cancel() {
        return end(Reason.CANCELLED);
    }

    private CompletableFuture<Reason> end(Reason how) {
        ends.add(how);
        return CompletableFuture.completedFuture(how);
    }

    @Override
    public void onLost(Runnable action) {}

    @Override
    public void close() {
        if (ends.isEmpty()) {
            ends.add(Reason.CANCELLED);
        }
    }
}
