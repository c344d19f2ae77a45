package dev.weir.decision.state;

import java.util.Map;

/**
 * The bounds of the expiry queues of {@link BoundedReservations}, and its clock.
 *
 * @param nextNumber the number of the next reservation, from 1
 * @param observed how many requests were observed
 * @param earliestMs the earliest time of the current epoch of requests
 * @param earliestBeforeMs the earliest time of the epoch before
 * @param lanes the expiry queues that ever had an entry, by lane
 */
public record ReservationSummary(
        long nextNumber, long observed, long earliestMs, long earliestBeforeMs, Map<Integer, Lane> lanes) {

    /** Of a table that never held a reservation. */
    public static final ReservationSummary EMPTY =
            new ReservationSummary(1, 0, Long.MAX_VALUE, Long.MAX_VALUE, Map.of());

    /**
     * The bounds of a queue.
     *
     * @param first the position of the first entry
     * @param end the position after the last entry
     */
    public record Lane(long first, long end) {}
}
