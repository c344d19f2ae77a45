package dev.weir.decision.state;

import dev.weir.event.RequestKind;
import java.util.List;
import java.util.Optional;

/**
 * A reservation: an allowed or queued request whose charges can still be corrected and whose slots can be freed.
 *
 * @param number identifies it among those of its task; later ones have higher numbers
 * @param first the first answer to the request. Empty if the reservation is hidden: only observing policies asked for
 *     it, so no answer depends on it
 * @param cost the estimate, in tokens: what was charged to each limit
 * @param fromMs the start of the request or, if it was renewed since, the time of that; in milliseconds since the epoch.
 *     If leases were used, not before that by the ledger's time
 * @param durationMs how long after {@code fromMs} it ends, 1 ms or more
 * @param held what it was charged to
 * @param ending how it was ended; empty while it is open
 */
public record ReservationRecord(
        long number,
        Optional<FirstAnswer> first,
        long cost,
        long fromMs,
        long durationMs,
        List<HeldCharge> held,
        Optional<Ending> ending) {

    /**
     * How a reservation was ended before its time.
     *
     * @param kind {@code SETTLE}, {@code RELEASE} or {@code CANCEL}
     * @param cost what the request really cost; 0 for other kinds than {@code SETTLE}
     * @param atMs when, in milliseconds since the epoch
     */
    public record Ending(RequestKind kind, long cost, long atMs) {}

    public ReservationRecord {
        held = List.copyOf(held);
    }

    public boolean isHidden() {
        return first.isEmpty();
    }

    /** Returns when it ends or, if it was ended before, would have ended. */
    public long endMs() {
        return fromMs + durationMs;
    }

    /** Returns when the slots of a charge end. */
    public long slotEndMs(HeldCharge.Counted charge) {
        return fromMs + charge.slotMs();
    }

    /** Returns this reservation, renewed at {@code nowMs}. It never ends earlier than before. */
    public ReservationRecord renewed(long nowMs) {
        return new ReservationRecord(number, first, cost, Math.max(fromMs, nowMs), durationMs, held, ending);
    }

    /** Returns this reservation with other charges. */
    public ReservationRecord withHeld(List<HeldCharge> other) {
        return new ReservationRecord(number, first, cost, fromMs, durationMs, other, ending);
    }

    /** Returns this reservation, ended. */
    public ReservationRecord ended(Ending how) {
        return new ReservationRecord(number, first, cost, fromMs, durationMs, held, Optional.of(how));
    }
}
