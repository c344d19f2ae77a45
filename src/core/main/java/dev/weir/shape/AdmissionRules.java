package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;

/** Decides which requests reach a bucket: by whose rules, and which are denied before. Changes nothing. */
final class AdmissionRules {

    private static final long NANOS_PER_MS = 1_000_000;

    private final PartitionQueues queues;
    private final OperatorOrders orders;

    AdmissionRules(PartitionQueues queues, OperatorOrders orders) {
        this.queues = queues;
        this.orders = orders;
    }

    /**
     * Returns the queue; null if there is none, or if it had to drain and is no longer in use, but not removed yet.
     *
     * @param inForce the rules in force, null if the queue was deleted
     */
    PartitionQueue inUse(String id, QueueRules inForce, long nowNanos) {
        PartitionQueue queue = queues.get(id);
        return queue == null || !queue.canAdopt(inForce) && queue.isUnused(nowNanos) ? null : queue;
    }

    /**
     * Returns the rules by which requests are admitted: those in force, or null while a queue drains that was deleted
     * or got another key.
     *
     * @param queue the queue that is in use, null if there is none
     */
    static QueueRules admitting(QueueRules inForce, PartitionQueue queue) {
        return queue == null || queue.canAdopt(inForce) ? inForce : null;
    }

    /** Returns the denial of a request that cannot be admitted to a bucket of an existing queue; null if it can. */
    Decision fault(Admission admission, QueueRules current, long nowNanos) {
        if (current == null) {
            return null;
        }
        for (String field : current.key()) {
            if (admission.request().field(field) == null) {
                return QueueDecisions.noKey(admission, field, nowNanos / NANOS_PER_MS);
            }
        }
        if (!current.hasKeyFieldsOf(admission)) {
            return noQueue(admission, nowNanos); // sent before its sender knew the key fields, to the wrong partition
        }
        if (!isCancel(admission) && orders.drains(BucketId.of(admission))) {
            return QueueDecisions.draining(admission, nowNanos / NANOS_PER_MS);
        }
        PartitionQueue queue = queues.get(admission.queue());
        boolean isFull = queue != null
                && current.total() != null
                && queue.isTotalFull(priority(admission, current, nowNanos))
                && !isCancel(admission);
        return isFull ? full(admission, current.total(), queue.retryAfterMs(nowNanos), nowNanos) : null;
    }

    private static Decision full(Admission admission, QueueTotal total, long retryAfterMs, long nowNanos) {
        return QueueDecisions.denied(
                admission,
                Reason.QUEUE_FULL,
                LimitStatus.of("total.capacity", total.capacity()),
                retryAfterMs,
                nowNanos / NANOS_PER_MS);
    }

    /** Returns the priority below which a request evicts others. One that has to wait for its time evicts none. */
    static int priority(Admission admission, QueueRules rules, long nowNanos) {
        if (QueueForecast.isEarly(admission.request(), nowNanos / NANOS_PER_MS)) {
            return Integer.MIN_VALUE;
        }
        return rules.share(rules.flowOf(admission.request()).tier()).priority();
    }

    static Decision noQueue(Admission admission, long nowNanos) {
        long nowMs = nowNanos / NANOS_PER_MS;
        return isCancel(admission)
                ? QueueDecisions.cancelResult(admission, false, nowMs)
                : QueueDecisions.noQueue(admission, nowMs);
    }

    /** Returns the answer to a worker whose bucket does not exist. */
    static Decision staleAttempt(Admission answer, long nowNanos) {
        return QueueDecisions.staleAttempt(answer, nowNanos / NANOS_PER_MS);
    }

    static boolean isCancel(Admission admission) {
        return admission.request().kind() == RequestKind.CANCEL;
    }
}
