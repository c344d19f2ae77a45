package dev.weir.shape.backlog;

import dev.weir.event.Admission;
import dev.weir.time.DueTime;

/**
 * The content of a flow's slot: a waiting request, or an end of a gap that was left by requests which left from
 * the middle.
 */
public sealed interface Slot {

    /**
     * A waiting request.
     *
     * @param admission the request
     * @param number its number in the order of arrival, over all flows of the queue
     * @param enqueuedAtMs when it was queued, in milliseconds since the epoch
     * @param expiresAtMs the last time at which it can be released; {@link DueTime#NEVER} if it can wait indefinitely
     * @param hasTicket whether it can be found by its ticket; false if a newer one has the same ticket
     * @param expiryTimer its expiry timer, null if it expires no earlier than those ahead of it in its flow
     */
    record Waiting(
            Admission admission,
            long number,
            long enqueuedAtMs,
            long expiresAtMs,
            boolean hasTicket,
            QueueStore.ExpiryTimer expiryTimer)
            implements Slot {

        /** Returns this request without a ticket. */
        Waiting withoutTicket() {
            return new Waiting(admission, number, enqueuedAtMs, expiresAtMs, false, expiryTimer);
        }

        /** Returns the cost in tokens. */
        public long cost() {
            return admission.request().cost();
        }
    }

    /**
     * The first or the last slot of a gap.
     *
     * @param otherEnd the position of the other end; its own position if the gap has one slot
     */
    record Gap(long otherEnd) implements Slot {}
}
