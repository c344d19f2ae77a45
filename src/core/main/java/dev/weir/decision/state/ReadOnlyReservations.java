package dev.weir.decision.state;

import dev.weir.policy.RequestKey;
import java.util.List;

/** Reservations for decisions that must not change them. Writes are discarded. */
record ReadOnlyReservations(PolicyStates states) implements ReservationTable {

    @Override
    public ReservationRecord get(RequestKey key) {
        return states.reservation(key);
    }

    @Override
    public long nextNumber() {
        return Long.MAX_VALUE;
    }

    @Override
    public boolean isEmpty() {
        return !states.hasReservations();
    }

    @Override
    public NextPlace nextPlace() {
        return states.nextPlace();
    }

    @Override
    public List<ReservationRecord> makePlace(long atMs) {
        return List.of();
    }

    @Override
    public List<ReservationRecord> sweep(long atMs) {
        return List.of();
    }

    @Override
    public void open(RequestKey key, ReservationRecord reservation) {}

    @Override
    public void change(RequestKey key, ReservationRecord reservation) {}
}
