package dev.weir.shape.store;

import dev.weir.event.Admission;
import dev.weir.shape.rules.QueueRules;
import dev.weir.time.DueTime;

/**
 * What is at a place of a flow: a waiting request, an end of a gap that was left by requests which left from the middle,
 * or a request that was released and has not ended. Such requests are before all of the flow that wait for their first
 * release.
 */
public sealed interface QueueEntry {

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
            implements QueueEntry {

        /** Returns this request without a ticket. */
        public Waiting withoutTicket() {
            return new Waiting(admission, number, enqueuedAtMs, expiresAtMs, false, expiryTimer);
        }

        /** Returns this request as it is kept after its release. */
        public Waiting released() {
            return expiryTimer == null
                    ? this
                    : new Waiting(admission, number, enqueuedAtMs, expiresAtMs, hasTicket, null);
        }

        /** Returns when it began to wait for its turn: when it was queued, or at the time for which it had waited. */
        public long sinceMs() {
            Long notBeforeMs = admission.request().notBeforeMs();
            return notBeforeMs == null ? enqueuedAtMs : Math.max(enqueuedAtMs, notBeforeMs);
        }

        /** Returns the cost in tokens. */
        public long cost() {
            return admission.request().cost();
        }
    }

    /**
     * A request that was released and has not ended.
     *
     * @param request the request; it has no expiry timer
     * @param attempt the number of its last release, from 1
     * @param failures how many attempts have failed so far
     * @param phase whether the attempt lasts
     * @param error what the worker reported about the last failure, null if it did not
     */
    record Attempted(Waiting request, int attempt, int failures, Phase phase, String error) implements QueueEntry {

        /** Returns this request in another phase. */
        public Attempted in(Phase other) {
            return new Attempted(request, attempt, failures, other, error);
        }

        /** Returns this request after its attempt has failed. */
        public Attempted failed(String why) {
            return new Attempted(request, attempt, failures + 1, phase, why);
        }

        /** Returns this request without a ticket. */
        public Attempted withoutTicket() {
            return new Attempted(request.withoutTicket(), attempt, failures, phase, error);
        }
    }

    /** What a released request waits for. */
    sealed interface Phase {

        /** Returns the time until which it waits, in milliseconds since the epoch. */
        long untilMs();

        /**
         * A worker processes it, or will when it reads the release.
         *
         * @param slots the slots that it occupies
         * @param startedAtMs when the worker could begin, in milliseconds since the epoch
         * @param untilMs when the attempt is taken for lost
         * @param isClaimed whether a worker has confirmed that it processes it
         * @param charge the service that its flow was charged so far, see {@link QueueRules#service}
         */
        record InFlight(long slots, long startedAtMs, long untilMs, boolean isClaimed, long charge) implements Phase {

            /** Returns how long it has lasted at a time, or lasted if it was over before. */
            public long lastedMs(long nowMs) {
                return Math.max(0, Math.min(nowMs, untilMs) - startedAtMs);
            }
        }

        /** It waits for its next attempt, which must not begin before a time. It occupies no slot. */
        record Backoff(long untilMs) implements Phase {}
    }

    /**
     * The first or the last place of a gap.
     *
     * @param otherEnd the position of the other end; its own position if the gap has one place
     */
    record Gap(long otherEnd) implements QueueEntry {}
}
