package dev.weir.storage.codec;

import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.ReservationSummary;
import java.util.List;

/** A value of the store of reservations. */
public sealed interface ReservationEntry {

    /** A reservation. */
    record Reserved(ReservationRecord reservation) implements ReservationEntry {}

    /** Entries of an expiry queue that follow each other. */
    record Expiries(List<ExpiryEntry> entries) implements ReservationEntry {}

    /** The bounds of the expiry queues. */
    record Bounds(ReservationSummary summary) implements ReservationEntry {}
}
