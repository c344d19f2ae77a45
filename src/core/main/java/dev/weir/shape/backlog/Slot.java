package dev.weir.shape.backlog;

import dev.weir.event.Admission;

/** What a flow's slot holds: a request that waits, or an end of a gap where requests have left from the middle. */
public sealed interface Slot {

    /**
     * A request that waits.
     *
     * @param number its place in the order of arrival, over all flows of the queue
     * @param enqueuedAtMs when it began to wait, ms since the epoch
     * @param expiresAtMs the last moment at which it may leave, {@link #NEVER} if it may wait for as long as it takes
     * @param hasTicket whether it is found by its ticket: not if a newer one has the same
     * @param expiryTimer the note of when it expires, null if it expires no earlier than those ahead of it in its flow
     */
    record Waiting(
            Admission admission,
            long number,
            long enqueuedAtMs,
            long expiresAtMs,
            boolean hasTicket,
            QueueStore.ExpiryTimer expiryTimer)
            implements Slot {

        public static final long NEVER = Long.MAX_VALUE;

        /** The same, to be found no more. */
        Waiting withoutTicket() {
            return new Waiting(admission, number, enqueuedAtMs, expiresAtMs, false, expiryTimer);
        }

        /** In tokens. */
        public long cost() {
            return admission.request().cost();
        }

        /** Its flow: which tier's share it waits for, and behind whom. */
        public Flow flow() {
            return flowOf(admission);
        }

        /** The flow in which a request waits. */
        public static Flow flowOf(Admission admission) {
            String tier = admission.request().tier();
            return new Flow(tier == null ? "" : tier, admission.request().client());
        }
    }

    /**
     * An end of a gap: its first or its last slot.
     *
     * @param otherEnd the position of the other end; its own if the gap has one slot
     */
    record Gap(long otherEnd) implements Slot {}
}
