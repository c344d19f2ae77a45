package dev.weir.decision.state;

import java.util.Map;
import java.util.TreeMap;

/**
 * The bounds of the expiry queues of {@link BoundedReservations}, and its clock. An immutable value.
 *
 * @param nextNumber the number of the next reservation, from 1
 * @param observed how many requests were observed
 * @param earliestMs the earliest time of the current epoch of requests
 * @param earliestBeforeMs the earliest time of the epoch before
 * @param lanes the expiry queues that are not empty, by lane
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
    public record Lane(long first, long end) {

        static final Lane NONE = new Lane(0, 0);

        long size() {
            return end - first;
        }
    }

    /** Returns this summary after the time of one more request. */
    ReservationSummary observing(long atMs, long epoch) {
        boolean begins = observed % epoch == 0;
        return new ReservationSummary(
                nextNumber,
                observed + 1,
                Math.min(begins ? Long.MAX_VALUE : earliestMs, atMs),
                begins ? earliestMs : earliestBeforeMs,
                lanes);
    }

    /** Returns the earliest of the latest times. */
    long nowMs() {
        return Math.min(earliestMs, earliestBeforeMs);
    }

    Lane lane(int number) {
        return lanes.getOrDefault(number, Lane.NONE);
    }

    ReservationSummary with(int number, Lane lane) {
        Map<Integer, Lane> next = new TreeMap<>(lanes);
        next.put(number, lane);
        return new ReservationSummary(nextNumber, observed, earliestMs, earliestBeforeMs, next);
    }

    ReservationSummary withNextNumber(long number) {
        return new ReservationSummary(number, observed, earliestMs, earliestBeforeMs, lanes);
    }

    /** Returns how many entries the lanes of a range have. */
    long size(int from, int end) {
        long size = 0;
        for (Map.Entry<Integer, Lane> lane : lanes.entrySet()) {
            size += lane.getKey() >= from && lane.getKey() < end
                    ? lane.getValue().size()
                    : 0;
        }
        return size;
    }
}
