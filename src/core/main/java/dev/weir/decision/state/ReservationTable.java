package dev.weir.decision.state;

import dev.weir.policy.RequestKey;
import java.util.List;

/**
 * The reservations of a task, by client and requestId: those that are open, and those that were ended but would not have
 * ended yet. The kind of the keys is {@code CONSUME}.
 */
public interface ReservationTable {

    /** Returns a reservation, null if there is none. Its end can have passed. */
    ReservationRecord get(RequestKey key);

    /** Returns the number of the next reservation, 1 or more. Numbers are never used again. */
    long nextNumber();

    /** Returns whether there are no reservations, not counting hidden ones. */
    boolean isEmpty();

    /** Returns when there is a place for one more reservation. Hidden ones take no place. */
    NextPlace nextPlace();

    /**
     * Deletes reservations whose ends have passed at {@code atMs}, the time of a request that needs a place, until there is
     * one; a bounded number of them. Frees a place if the {@link #nextPlace} is not taken at that time; otherwise, that stays
     * the next one. Returns those that were open.
     */
    List<ReservationRecord> makePlace(long atMs);

    /**
     * Observes the time of a request, and deletes a bounded number of reservations whose ends have passed. Returns those
     * of them that were open.
     */
    List<ReservationRecord> sweep(long atMs);

    /**
     * Adds a reservation, which must have the {@link #nextNumber}. Does nothing if there are too many: for hidden ones,
     * as many as there may be others.
     */
    void open(RequestKey key, ReservationRecord reservation);

    /** Stores a reservation that is in the table and has changed. */
    void change(RequestKey key, ReservationRecord reservation);
}
