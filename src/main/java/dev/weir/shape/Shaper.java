package dev.weir.shape;

import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.Kind;
import dev.weir.policy.Reason;
import dev.weir.shape.QueueStore.Place;
import dev.weir.shape.Slot.Waiting;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Many queues, each of one leaky bucket or of one for each of its keys. Each bucket is woken when it is due: a tick touches no others, so
 * its cost does not grow with their number. A bucket of a key is forgotten once nothing waits in it and what has left no longer matters.
 * Time is an argument and never runs backwards, unless it steps back.
 */
public final class Shaper {

    /** The last moment that can be told in nanoseconds, with room for what waits: the year 2200, in ms. */
    public static final long LAST_MS = 7_258_118_400_000L;

    /**
     * How many keys may be in use on one partition, of all queues together: some 300 MB. A client that makes up keys would use up the heap
     * otherwise.
     */
    private static final int MAX_KEYS = 100_000;

    /** How many steps one bucket may take before it is the next one's turn. */
    private static final int STEPS_A_TURN = 500;

    private static final long NANOS_PER_MS = 1_000_000;

    /** What the queues are to do. */
    public interface Rules {

        /** The rules in force, null if there is no such queue. */
        QueueRules of(String queue);
    }

    /** Where the queues are kept. */
    public interface Stores {

        /** What waits in a bucket. */
        QueueStore of(BucketId bucket);

        void save(BucketState state);

        /** Forgets the state of a bucket in which nothing waits. */
        void delete(BucketId bucket);

        /** The queues' answers to requests that may be repeated. */
        FirstAnswers firstAnswers();
    }

    private record Due(long nanos, long order, BucketId bucket) {}

    /** The buckets of one queue, as far as they are here. */
    private final class Queue {
        final Map<BucketId, LeakyBucketQueue> buckets = new LinkedHashMap<>();
        final Backlog backlog = new Backlog(more -> waiting += more);
        QueueRules rules;
        boolean isDeleted;

        Queue(QueueRules rules) {
            this.rules = rules;
        }

        /** Whether its buckets have these rules, null for a queue that was deleted. */
        boolean isAt(QueueRules current) {
            return current == null ? isDeleted : !isDeleted && (current == rules || current.equals(rules));
        }
    }

    private final Rules rules;
    private final Stores stores;
    private final Remembering outlet;
    private final int maxKeys;
    private final Map<String, Queue> queues = new TreeMap<>();
    private final Map<BucketId, Due> dueByBucket = new HashMap<>();
    private final TreeSet<Due> soonestFirst =
            new TreeSet<>(Comparator.comparingLong(Due::nanos).thenComparingLong(Due::order));
    private long orders;
    private long waiting;

    public Shaper(Rules rules, Stores stores, Outlet outlet) {
        this(rules, stores, outlet, MAX_KEYS);
    }

    Shaper(Rules rules, Stores stores, Outlet outlet, int maxKeys) {
        this.maxKeys = maxKeys;
        this.rules = rules;
        this.stores = stores;
        this.outlet = new Remembering(stores.firstAnswers(), outlet);
    }

    /** Restores a bucket. */
    public void restore(BucketState state) {
        add(state);
    }

    /**
     * Restores a request that waits in a restored bucket; requests of one flow come in the order of their positions.
     *
     * @return false if there is no such bucket
     */
    public boolean restore(BucketId id, Place place, Waiting request) {
        Queue queue = queues.get(id.queue());
        LeakyBucketQueue bucket = queue == null ? null : queue.buckets.get(id);
        if (bucket != null) {
            bucket.restore(place.position(), request);
        }
        return bucket != null;
    }

    /** Goes on once all is restored. */
    public void resume() {
        for (Queue queue : queues.values()) {
            for (LeakyBucketQueue bucket : queue.buckets.values()) {
                bucket.resume();
                plan(bucket, 0);
            }
        }
    }

    /**
     * Lets a request into its bucket, or withdraws one from it; answers in any case. A repeat is answered as the first time,
     * whatever became of the request since.
     *
     * @param number its place in the order of arrival
     * @param enqueuedAtMs when it came, not after now
     */
    public void admit(Admission admission, long number, long enqueuedAtMs, long nowNanos) {
        if (admission.repeated()) {
            outlet.repeat(admission, nowNanos / NANOS_PER_MS);
            return;
        }
        QueueRules current = rules.of(admission.queue());
        apply(current, queues.get(admission.queue()), nowNanos);
        Decision fault = fault(admission, current, nowNanos);
        LeakyBucketQueue bucket = fault == null ? bucket(BucketId.of(admission), current, nowNanos) : null;
        if (bucket == null) {
            outlet.decide(admission, fault == null ? noQueue(admission, nowNanos) : fault);
            return;
        }
        if (isCancel(admission)) {
            bucket.cancel(admission, nowNanos);
        } else {
            bucket.offer(admission, number, enqueuedAtMs, nowNanos);
        }
        settle(bucket, 0);
    }

    /** When buckets were written last, in ms since the epoch; 0 if there are none. */
    public long writtenMs() {
        return queues.values().stream()
                .flatMap(queue -> queue.buckets.values().stream())
                .mapToLong(bucket -> bucket.state().outflow().clockNanos() / NANOS_PER_MS)
                .max()
                .orElse(0);
    }

    /** Sets the time of all queues back, because it was wrong. */
    public void stepBack(long nowNanos) {
        for (Queue queue : queues.values()) {
            for (LeakyBucketQueue bucket : List.copyOf(queue.buckets.values())) {
                bucket.stepBack(nowNanos);
                settle(bucket, 0);
            }
        }
    }

    /** Whether any request waits. */
    public boolean hasWaiting() {
        return waiting > 0;
    }

    /** Puts changed rules in force, for what waits as well. */
    public void refresh(long nowNanos) {
        queues.forEach((id, queue) -> apply(rules.of(id), queue, nowNanos));
    }

    /**
     * Releases and lets expire what is due.
     *
     * @param steps how much is done at most; what is left over is due at once
     */
    public void tick(long nowNanos, int steps) {
        int left = steps;
        while (left > 0 && isDue(nowNanos)) {
            BucketId id = soonestFirst.first().bucket;
            LeakyBucketQueue bucket = queues.get(id.queue()).buckets.get(id);
            Budget turn = new Budget(Math.min(left, STEPS_A_TURN));
            bucket.drain(nowNanos, turn);
            left -= Math.max(1, turn.spent());
            settle(bucket, nowNanos);
        }
    }

    /** When there is something to do; {@link Long#MAX_VALUE} if nothing waits and there is nothing to forget. */
    public long dueNanos() {
        return soonestFirst.isEmpty() ? Long.MAX_VALUE : soonestFirst.first().nanos;
    }

    /** What a request would be answered that came now; leaves all as it is. */
    public Decision check(Admission admission, long nowNanos) {
        if (admission.repeated()) {
            return outlet.again(admission, nowNanos / NANOS_PER_MS);
        }
        QueueRules current = rules.of(admission.queue());
        Decision fault = fault(admission, current, nowNanos);
        if (fault != null) {
            return fault;
        }
        LeakyBucketQueue bucket = glance(BucketId.of(admission), current, nowNanos);
        return bucket == null ? noQueue(admission, nowNanos) : bucket.check(admission, current, nowNanos);
    }

    /** A queue as it is now, as far as it is here; null if there is none. Leaves all as it is. */
    public QueueView view(String id, long nowNanos) {
        QueueRules current = rules.of(id);
        Queue queue = queues.get(id);
        QueueRules last = current != null ? current : queue == null ? null : queue.rules;
        if (last == null || !last.isKeyed()) {
            return view(new BucketId(id, List.of()), nowNanos);
        }
        return queue == null
                ? together(last, false, new Backlog(more -> {}), 0, nowNanos)
                : together(last, current == null, queue.backlog, queue.buckets.size(), nowNanos);
    }

    /** A bucket as it is now, null if there is no such queue; leaves all as it is. */
    public QueueView view(BucketId id, long nowNanos) {
        QueueRules current = rules.of(id.queue());
        LeakyBucketQueue bucket = glance(id, current, nowNanos);
        return bucket == null ? null : bucket.view(current, nowNanos);
    }

    /** The first of the queues that anything was sent to, by id, as they are now; leaves all as they are. */
    public List<QueueView> views(int most, long nowNanos) {
        List<QueueView> views = new ArrayList<>();
        queues.keySet().stream().limit(most).forEach(id -> views.add(view(id, nowNanos)));
        return views;
    }

    private static QueueView together(
            QueueRules rules, boolean isDeleted, Backlog backlog, long buckets, long nowNanos) {
        Long sinceMs = backlog.oldestEnqueuedAtMs();
        return new QueueView(
                rules,
                isDeleted,
                backlog.requests(),
                backlog.tokens(),
                QueueView.tiers(rules, backlog.requestsByTier()),
                sinceMs == null ? null : (Long) Math.max(0, nowNanos / NANOS_PER_MS - sinceMs),
                null,
                null,
                buckets);
    }

    /** A bucket to look at; one that nothing has been sent to yet is made up. */
    private LeakyBucketQueue glance(BucketId id, QueueRules current, long nowNanos) {
        Queue queue = queues.get(id.queue());
        LeakyBucketQueue bucket = queue == null ? null : queue.buckets.get(id);
        return bucket == null && current != null
                ? make(LeakyBucketQueue.fresh(id, current, nowNanos), new Backlog(more -> {}))
                : bucket;
    }

    private LeakyBucketQueue add(BucketState state) {
        Queue queue = queues.computeIfAbsent(state.id().queue(), id -> new Queue(state.rules()));
        LeakyBucketQueue bucket = make(state, queue.backlog);
        queue.buckets.put(state.id(), bucket);
        return bucket;
    }

    private LeakyBucketQueue make(BucketState state, Backlog backlog) {
        return new LeakyBucketQueue(state, stores.of(state.id()), backlog, outlet);
    }

    /** Why there is no bucket for a request of a queue that there is; null if there can be one. */
    private Decision fault(Admission admission, QueueRules current, long nowNanos) {
        if (current == null) {
            return null;
        }
        Map<String, String> key = current.keyOf(admission.request());
        if (key.size() < current.key().size()) {
            Set<String> known = key.keySet();
            String missing = current.key().stream()
                    .filter(field -> !known.contains(field))
                    .findFirst()
                    .orElseThrow();
            return Answers.noKey(admission, missing, nowNanos / NANOS_PER_MS);
        }
        if (!key.equals(admission.key())) {
            return noQueue(admission, nowNanos); // sent before its sender knew the key fields: the partition is wrong
        }
        boolean isTooMany = !key.isEmpty() && dueByBucket.size() >= maxKeys && !isInUse(BucketId.of(admission));
        return isTooMany ? tooManyKeys(admission, nowNanos) : null;
    }

    private boolean isInUse(BucketId id) {
        Queue queue = queues.get(id.queue());
        return queue != null && queue.buckets.containsKey(id);
    }

    /** There may be room for another key when the next bucket is due. */
    private Decision tooManyKeys(Admission admission, long nowNanos) {
        long nowMs = nowNanos / NANOS_PER_MS;
        return isCancel(admission)
                ? Answers.cancel(admission, false, nowMs)
                : Answers.denied(
                        admission,
                        Reason.QUEUE_FULL,
                        "keys",
                        (long) maxKeys,
                        Math.max(1, dueNanos() / NANOS_PER_MS - nowMs),
                        nowMs);
    }

    private static Decision noQueue(Admission admission, long nowNanos) {
        long nowMs = nowNanos / NANOS_PER_MS;
        return isCancel(admission)
                ? Answers.cancel(admission, false, nowMs)
                : Answers.denied(admission, Reason.NO_QUEUE, null, null, null, nowMs);
    }

    private boolean isDue(long nowNanos) {
        return !soonestFirst.isEmpty() && soonestFirst.first().nanos <= nowNanos;
    }

    /** Null if there is no such queue. */
    private LeakyBucketQueue bucket(BucketId id, QueueRules current, long nowNanos) {
        Queue queue = queues.get(id.queue());
        LeakyBucketQueue bucket = queue == null ? null : queue.buckets.get(id);
        if (bucket != null || current == null) {
            return bucket;
        }
        BucketState fresh = LeakyBucketQueue.fresh(id, current, nowNanos);
        stores.save(fresh);
        return add(fresh);
    }

    /** @param current null if the queue was deleted */
    private void apply(QueueRules current, Queue queue, long nowNanos) {
        if (queue == null) {
            return;
        }
        boolean isSame = queue.isAt(current);
        queue.rules = current == null ? queue.rules : current; // the same object is told at once the next time
        queue.isDeleted = current == null;
        if (isSame) {
            return;
        }
        for (LeakyBucketQueue bucket : List.copyOf(queue.buckets.values())) {
            if (current == null) {
                bucket.delete();
            } else {
                bucket.setRules(current, nowNanos);
            }
            settle(bucket, 0);
        }
    }

    /** @param earliestNanos a bucket that is due still goes behind those that are due before then */
    private void settle(LeakyBucketQueue bucket, long earliestNanos) {
        if (bucket.id().isKeyed() && bucket.isIdle()) {
            forget(bucket.id());
            return;
        }
        if (bucket.takeChanged()) {
            stores.save(bucket.state());
        }
        plan(bucket, earliestNanos);
    }

    private void forget(BucketId id) {
        stores.delete(id);
        queues.get(id.queue()).buckets.remove(id);
        unplan(id);
    }

    private void plan(LeakyBucketQueue bucket, long earliestNanos) {
        unplan(bucket.id());
        long nanos = bucket.dueNanos();
        if (nanos < Long.MAX_VALUE) {
            Due due = new Due(Math.max(nanos, earliestNanos), orders++, bucket.id());
            dueByBucket.put(bucket.id(), due);
            soonestFirst.add(due);
        }
    }

    private void unplan(BucketId id) {
        Due before = dueByBucket.remove(id);
        if (before != null) {
            soonestFirst.remove(before);
        }
    }

    private static boolean isCancel(Admission admission) {
        return admission.request().kind() == Kind.CANCEL;
    }
}
