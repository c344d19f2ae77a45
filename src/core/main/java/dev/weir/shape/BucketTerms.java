package dev.weir.shape;

import dev.weir.event.Release;
import dev.weir.shape.backlog.Head;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.total.OutflowState;

/**
 * What the releases of a bucket depend on besides the requests that wait: its rules, and what it has released.
 *
 * @param rules the rules in force, or the last ones
 * @param pacing the pacing of the rules
 * @param total the pacing of all keys together; null if there is none
 * @param outflow what was released, counted by that pacing
 * @param isDeleted whether the queue was deleted, so that it admits nothing
 */
record BucketTerms(QueueRules rules, Pacing pacing, Pacing total, OutflowState outflow, boolean isDeleted) {

    private static final long NANOS_PER_MS = 1_000_000;

    /**
     * Returns these terms with other rules, adopted at a time. Their pace applies from then on, or from the last release
     * on if that was written ahead.
     */
    BucketTerms adopt(PacedQueueRules newRules, long nowNanos) {
        long fromNanos = Math.max(nowNanos, outflow.lastNanos());
        Pacing.Arrival arrival = newRules.pacing().adopt(pacing, outflow.arrival(), fromNanos);
        OutflowState adopted = new OutflowState(arrival, outflow.lastNanos(), outflow.sequence(), nowNanos);
        return new BucketTerms(newRules.rules(), newRules.pacing(), newRules.total(), adopted, isDeleted);
    }

    /** Returns whether rules are those of these terms. */
    boolean follow(QueueRules current) {
        return rules == current || rules.equals(current);
    }

    /** Returns these terms of a queue that is deleted, or not. */
    BucketTerms deleted(boolean deleted) {
        return deleted == isDeleted ? this : new BucketTerms(rules, pacing, total, outflow, deleted);
    }

    /** Returns the terms that would apply at a time with rules in force, null if the queue was deleted. */
    BucketTerms under(QueueRules current, long nowNanos) {
        BucketTerms adopted = current == null || follow(current) ? this : adopt(PacedQueueRules.of(current), nowNanos);
        return adopted.deleted(current == null);
    }

    /** Returns these terms after a release of this cost. */
    BucketTerms released(long cost, long atNanos, long nowNanos) {
        Pacing.Arrival arrival = pacing.released(outflow.arrival(), cost, atNanos);
        OutflowState after = new OutflowState(arrival, atNanos, outflow.sequence() + 1, nowNanos);
        return new BucketTerms(rules, pacing, total, after, isDeleted);
    }

    /** Returns these terms when the time is set back to this one. */
    BucketTerms movedTo(long nowNanos) {
        return new BucketTerms(rules, pacing, total, outflow.movedTo(nowNanos), isDeleted);
    }

    /** Returns when the next request can leave if it has this cost. */
    long turnNanos(long cost, long nowNanos) {
        return pacing.earliestNanos(outflow.arrival(), cost, Math.max(nowNanos, outflow.lastNanos()));
    }

    /** Returns when the pace permits the next request to leave, possibly in the past, but not before it was queued. */
    long earliestTurnNanos(Head next, long nowNanos) {
        long paceNanos = pacing.earliestNanos(outflow.arrival(), next.cost(), outflow.lastNanos());
        return Math.max(paceNanos, Math.min(nowNanos, next.enqueuedAtMs() * NANOS_PER_MS)); // time may be set back
    }

    /**
     * Returns how many tokens can leave from {@code atNanos} until {@code nanos} later by the pace; at least the next
     * request's cost, and at least 1, since requests of cost 0 take their turn too.
     *
     * @param nextCost the cost of the next request
     * @param waiting the total cost of what waits
     */
    long tokensAt(long atNanos, long nanos, long nextCost, long waiting) {
        long aheadNanos = Math.max(0, outflow.arrival().ceilNanos() - atNanos);
        long used = aheadNanos == 0 ? 0 : pacing.tokensIn(aheadNanos) + 1;
        long atPace = Math.max(0, rules.burst() - used) + pacing.tokensIn(nanos);
        return Math.max(1, Math.min(waiting, Math.max(nextCost, atPace)));
    }

    /** Returns the time that a release of this cost takes of the rates. */
    Release.Pace pace(long cost) {
        return new Release.Pace(pacing.spanNanos(cost), total == null ? 0 : total.spanNanos(cost));
    }

    /** Returns when past releases no longer matter. */
    long idleNanos() {
        return Math.max(outflow.arrival().ceilNanos(), outflow.lastNanos());
    }

    long lookAheadNanos() {
        return rules.lookAheadMs() * NANOS_PER_MS;
    }
}
