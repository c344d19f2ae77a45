package dev.weir.decision.state;

import java.util.OptionalLong;

/**
 * When a table of reservations has a place for one more.
 *
 * @param isFull whether it has as many as it may have, including those that are over but not deleted
 * @param freeFromMs from when on a request finds a place in a full table, if no reservation is renewed before; in
 *     milliseconds since the epoch, by the time of that request. Empty if that is unknown, or if the table is not full
 */
public record NextPlace(boolean isFull, OptionalLong freeFromMs) {

    /** The table is not full. */
    public static final NextPlace FREE = new NextPlace(false, OptionalLong.empty());

    /** Returns whether a request with this time finds no place. */
    public boolean isTakenAt(long atMs) {
        return isFull && (freeFromMs.isEmpty() || freeFromMs.getAsLong() > atMs);
    }

    /** Returns how long after {@code nowMs} a request finds a place, 1 ms or more; null if that is unknown. */
    public Long retryAfterMs(long nowMs) {
        return freeFromMs.isEmpty() ? null : (Long) Math.max(1, freeFromMs.getAsLong() - nowMs);
    }
}
