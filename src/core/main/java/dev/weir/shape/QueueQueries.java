package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.LongestKeys;
import dev.weir.shape.view.QueueView;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Questions about the queues of a {@link Shaper}. They change nothing. */
public final class QueueQueries {

    private static final long NANOS_PER_MS = 1_000_000;

    private final Shaper.RulesSource rules;
    private final PartitionQueues queues;
    private final AdmissionRules admissions;
    private final OperatorOrders orders;
    private final EffectLog answers;

    QueueQueries(
            Shaper.RulesSource rules,
            PartitionQueues queues,
            AdmissionRules admissions,
            OperatorOrders orders,
            EffectLog answers) {
        this.rules = rules;
        this.queues = queues;
        this.admissions = admissions;
        this.orders = orders;
        this.answers = answers;
    }

    /** Returns how a request that arrives now would be answered. */
    public Decision check(Admission admission, long nowNanos) {
        if (admission.repeated()) {
            return answers.repeatedDecision(admission, nowNanos / NANOS_PER_MS);
        }
        QueueRules inForce = rules.of(admission.queue());
        QueueRules current = AdmissionRules.admitting(inForce, admissions.inUse(admission.queue(), inForce, nowNanos));
        if (admission.request().kind().isAcknowledgement()) {
            LeakyBucketQueue bucket = peekBucket(BucketId.of(admission), null, nowNanos);
            return bucket == null
                    ? AdmissionRules.staleAttempt(admission, nowNanos)
                    : bucket.answers(current, nowNanos).check(admission);
        }
        Decision fault = admissions.fault(admission, current, nowNanos);
        if (fault != null) {
            return fault;
        }
        LeakyBucketQueue bucket = peekBucket(BucketId.of(admission), current, nowNanos);
        return bucket == null
                ? AdmissionRules.noQueue(admission, nowNanos)
                : bucket.answers(current, nowNanos).check(admission);
    }

    /**
     * Returns the current state of the part of a queue that is here; null if there is no such queue, or if it was
     * deleted and is no longer in use. If the queue drains because it got another key, returns the state of the old
     * buckets.
     */
    public QueueView view(String id, long nowNanos) {
        QueueView view = viewWithoutOrders(id, nowNanos);
        return view == null ? null : view.withOrders(orders.view(id));
    }

    private QueueView viewWithoutOrders(String id, long nowNanos) {
        QueueRules inForce = rules.of(id);
        PartitionQueue queue = admissions.inUse(id, inForce, nowNanos);
        QueueRules current = AdmissionRules.admitting(inForce, queue);
        QueueRules last = current != null ? current : queue == null ? null : queue.rules();
        if (last == null) {
            return null;
        }
        if (!last.isKeyed()) {
            return peekBucket(new BucketId(id, List.of()), current, nowNanos)
                    .answers(current, nowNanos)
                    .view();
        }
        if (queue == null) {
            return QueueView.ofNoBuckets(last);
        }
        List<QueueView.KeyView> longest = new ArrayList<>();
        for (BucketId bucket : queue.buckets().longest()) {
            longest.add(queue.buckets().peek(bucket).answers(current, nowNanos).viewOfKey());
        }
        return combinedView(queue, last, current == null, longest, nowNanos);
    }

    /**
     * Returns the current state of a bucket, null if there is no such queue. If the queue has no key, but here it
     * drains because it had one, returns the state of the old buckets.
     */
    public QueueView view(BucketId id, long nowNanos) {
        QueueRules inForce = rules.of(id.queue());
        PartitionQueue queue = admissions.inUse(id.queue(), inForce, nowNanos);
        QueueRules current = AdmissionRules.admitting(inForce, queue);
        if (current == null && (queue == null || queue.rules().isKeyed() && !id.isKeyed())) {
            return view(id.queue(), nowNanos);
        }
        LeakyBucketQueue bucket = peekBucket(id, inForce, nowNanos);
        return bucket == null
                ? null
                : bucket.answers(current, nowNanos)
                        .view()
                        .withOrders(id.isKeyed() ? orders.view(id) : orders.view(id.queue()));
    }

    /**
     * Returns the current states of the first {@code most} queues in use, by id, without those that had to drain and in
     * which nothing waits.
     */
    public List<QueueView> views(int most, long nowNanos) {
        Stream<String> inUse = queues.byId().values().stream()
                .filter(queue -> hasWaiting(queue) || queue.canAdopt(rules.of(queue.id())))
                .map(PartitionQueue::id);
        return views(inUse, most, nowNanos);
    }

    /**
     * Returns the current states of the first {@code most} queues, by id, that are not in force and in which requests
     * wait, or for which commands of operators are in effect.
     */
    public List<QueueView> unusual(int most, long nowNanos) {
        Set<String> ids = new TreeSet<>(orders.queues());
        queues.byId().values().stream()
                .filter(queue -> hasWaiting(queue) && rules.of(queue.id()) == null)
                .forEach(queue -> ids.add(queue.id()));
        return views(ids.stream(), most, nowNanos);
    }

    private List<QueueView> views(Stream<String> ids, int most, long nowNanos) {
        return ids.map(id -> view(id, nowNanos))
                .filter(Objects::nonNull) // unless it was deleted since
                .limit(most)
                .toList();
    }

    private static boolean hasWaiting(PartitionQueue queue) {
        return queue.backlog().requests() > 0;
    }

    /** Returns a bucket for queries. If it does not exist, returns an empty one that is not stored. */
    private LeakyBucketQueue peekBucket(BucketId id, QueueRules current, long nowNanos) {
        PartitionQueue queue = queues.get(id.queue());
        LeakyBucketQueue bucket = queue == null ? null : queue.buckets().peek(id);
        return bucket == null && current != null ? queues.fresh(id, current, nowNanos) : bucket;
    }

    private static QueueView combinedView(
            PartitionQueue queue, QueueRules rules, boolean isDeleted, List<QueueView.KeyView> longest, long nowNanos) {
        QueueBacklog backlog = queue.backlog();
        long nowMs = nowNanos / NANOS_PER_MS;
        return new QueueView(
                        rules,
                        isDeleted,
                        new QueueView.BacklogView(
                                backlog.requests(),
                                backlog.tokens(),
                                QueueView.tiers(rules, backlog.requestsByTier()),
                                QueueView.ageMs(backlog.oldestEnqueuedAtMs(), nowMs),
                                QueueView.drainMs(rules, backlog.tokens(), longest)),
                        new QueueView.SeveralBuckets(
                                queue.buckets().size(), queue.buckets().hotSize(), LongestKeys.of(longest)))
                .withScheduled(new QueueView.ScheduledView(backlog.scheduled(), null))
                .withInFlight(new QueueView.InFlightView(
                        backlog.inFlight(),
                        backlog.slots(),
                        backlog.slotsByTier(),
                        backlog.retries(),
                        QueueView.ageMs(backlog.oldestInFlightSinceMs(), nowMs)));
    }
}
