package dev.weir.shape.backlog;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.time.DueTime;

/**
 * The request of a flow that leaves first, with what its turn depends on: the first one that waits, or a released one
 * whose next attempt is due.
 *
 * @param place where it is stored
 * @param number its number in the order of arrival, or in which it entered its flow if it has waited for its time
 * @param cost its cost in tokens
 * @param enqueuedAtMs when it was queued, in milliseconds since the epoch
 * @param expiresAtMs the last time at which it can leave, in milliseconds since the epoch; {@link DueTime#NEVER} for
 *     never
 */
public record Head(Place place, long number, long cost, long enqueuedAtMs, long expiresAtMs) {

    static Head of(Place place, Waiting waiting) {
        return new Head(place, waiting.number(), waiting.cost(), waiting.sinceMs(), waiting.expiresAtMs());
    }

    /** Returns the head of a flow whose next attempt is due. Only its deadline bounds how long it waits. */
    static Head of(Place place, Attempted attempted) {
        Waiting request = attempted.request();
        Long deadlineMs = request.admission().request().deadlineMs();
        long expiresAtMs = deadlineMs == null ? DueTime.NEVER : Math.max(0, deadlineMs);
        return new Head(place, request.number(), request.cost(), request.enqueuedAtMs(), expiresAtMs);
    }

    public Flow flow() {
        return place.flow();
    }
}
