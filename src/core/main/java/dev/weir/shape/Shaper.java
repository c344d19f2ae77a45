package dev.weir.shape;

import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.KeyValueTable;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueDecisions;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.QueueStore;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.QueueTotal;
import dev.weir.shape.backlog.Slot.Waiting;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.total.OutflowState;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotLedger;
import dev.weir.shape.total.SlotMessenger;
import dev.weir.shape.total.SlotReport;
import dev.weir.shape.total.TimerQueue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * All queues of one partition, or of all partitions. Each queue is one leaky bucket, or one per key. A tick works only
 * on the {@link PartitionBuckets} that are due, so its cost does not grow with the number of buckets. The bucket of a
 * key is removed once nothing waits in it and its past releases no longer affect its rate, and a deleted queue once
 * this is so for all of its buckets. A queue that gets another key is treated as deleted until then. Time is an
 * argument and never decreases, unless it {@linkplain #stepBack steps back}.
 */
public final class Shaper {

    /** The latest time that can be represented in nanoseconds, with room for waits: the year 2200, in milliseconds. */
    public static final long MAX_TIME_MS = 7_258_118_400_000L;

    /** The most steps that one bucket takes before others get their turn. */
    private static final int STEPS_PER_TURN = 500;

    private static final long NANOS_PER_MS = 1_000_000;

    /** The rules of the queues. */
    public interface RulesSource {

        /** Returns the rules in force, null if there is no such queue. */
        QueueRules of(String queue);
    }

    /** The storage of the queues. */
    public interface Stores {

        /** Returns the store of the requests that wait in a bucket. */
        QueueStore of(BucketId bucket);

        /** Returns the state of a bucket with a key, null if there is none. */
        BucketState load(BucketId bucket);

        void save(BucketState state);

        void save(QueueState state);

        /** Returns the timers of the cold buckets. */
        KeyValueTable<TimerKey, BucketId> timers();

        /** Deletes the state of a bucket in which nothing waits. */
        void delete(BucketId bucket);

        /** Deletes the state of a queue without buckets. */
        void deleteQueue(String queue);

        /** Saves the slots that the ledger of a queue's total has granted. */
        void saveLedger(String queue, OutflowState slotsGiven);

        void deleteLedger(String queue);

        /** Returns the cache of the queues' answers to requests that may be repeated. */
        IdempotencyCache idempotencyCache();
    }

    /** The messenger of a shaper that has all keys: messages arrive as soon as the current work is done. */
    private final class LocalMessenger implements SlotMessenger {
        final Deque<Runnable> arriving = new ArrayDeque<>();
        long nowNanos;

        @Override
        public int partition() {
            return 0;
        }

        @Override
        public long expectedDelayMs() {
            return 0;
        }

        @Override
        public void report(SlotReport report) {
            arriving.add(() -> receive(report, nowNanos));
        }

        @Override
        public void grant(SlotGrant grant) {
            arriving.add(() -> receive(grant, nowNanos));
        }

        void deliver(long atNanos) {
            nowNanos = atNanos;
            while (!arriving.isEmpty()) {
                arriving.remove().run();
            }
        }
    }

    private final RulesSource rules;
    private final Stores stores;
    private final IdempotentOutlet outlet;
    private final PartitionBuckets buckets;
    private final Map<String, SlotLedger> ledgers = new TreeMap<>();
    private final TimerQueue<String> ledgerTimers = new TimerQueue<>();
    private final LocalMessenger localMessenger;
    private final SlotMessenger messenger;

    /**
     * Creates a shaper that has all keys.
     *
     * @param hotKeys the most keys on the heap, 1 or more
     */
    public Shaper(RulesSource rules, Stores stores, Outlet outlet, int hotKeys) {
        this(rules, stores, outlet, null, hotKeys);
    }

    /**
     * Creates a shaper that has the keys of one partition.
     *
     * @param messenger sends messages to other partitions; null for a shaper that has all keys
     * @param hotKeys the most keys on the heap, 1 or more
     */
    public Shaper(RulesSource rules, Stores stores, Outlet outlet, SlotMessenger messenger, int hotKeys) {
        this.rules = rules;
        this.stores = stores;
        this.outlet = new IdempotentOutlet(stores.idempotencyCache(), outlet);
        localMessenger = messenger == null ? new LocalMessenger() : null;
        this.messenger = messenger == null ? localMessenger : messenger;
        buckets = new PartitionBuckets(stores, this.outlet, this.messenger, hotKeys);
    }

    /** Restores the ledger of a queue's total. */
    public void restore(String queue, OutflowState slotsGiven) {
        SlotLedger ledger = new SlotLedger(queue, slotsGiven);
        ledgers.put(queue, ledger);
        ledgerTimers.set(queue, ledger.dueNanos());
    }

    /** Restores a queue. Must precede its buckets. */
    public void restore(QueueState state) {
        buckets.restore(state);
    }

    /**
     * Restores a bucket. If its state has no summary of what waits in it, {@link #restore(BucketId, Place, Waiting)}
     * must follow for each request.
     */
    public void restore(BucketState state) {
        buckets.restore(state);
    }

    /**
     * Restores a request that waits in a restored bucket. The requests of one flow must be restored in the order of
     * their positions.
     */
    public void restore(BucketId id, Place place, Waiting request) {
        buckets.queue(id.queue()).hot.get(id).restore(place, request);
    }

    /** Starts work after everything is restored. */
    public void resume() {
        buckets.resume();
    }

    /**
     * Admits a request to its bucket, or withdraws one from it, and emits a decision in any case. A repeat gets the
     * first answer, whatever happened to the request since.
     *
     * @param number the request's number in the order of arrival
     * @param enqueuedAtMs when it arrived, not after now
     */
    public void admit(Admission admission, long number, long enqueuedAtMs, long nowNanos) {
        if (admission.repeated()) {
            outlet.decideRepeat(admission, nowNanos / NANOS_PER_MS);
            return;
        }
        QueueRules inForce = rules.of(admission.queue());
        apply(admission.queue(), inForce, nowNanos);
        QueueRules current = admitting(inForce, buckets.queue(admission.queue()));
        Decision fault = fault(admission, current, nowNanos);
        LeakyBucketQueue bucket = fault == null ? bucket(BucketId.of(admission), current, nowNanos) : null;
        if (bucket == null) {
            outlet.emitDecision(admission, fault == null ? noQueue(admission, nowNanos) : fault);
            return;
        }
        if (isCancel(admission)) {
            bucket.cancel(admission, nowNanos);
        } else {
            bucket.offer(admission, number, enqueuedAtMs, nowNanos);
        }
        buckets.reschedule(bucket, 0, nowNanos);
        buckets.removeDrained(nowNanos);
    }

    /** Handles the report of a partition, for a queue whose ledger is here. */
    public void receive(SlotReport report, long nowNanos) {
        QueueRules current = rules.of(report.queue());
        SlotLedger ledger =
                ledgers.computeIfAbsent(report.queue(), queue -> new SlotLedger(queue, SlotLedger.fresh(nowNanos)));
        ledger.report(report, current, nowNanos);
        ledgerTimers.set(report.queue(), Math.max(nowNanos, ledger.dueNanos()));
    }

    /** Adds slots that were granted to this partition. */
    public void receive(SlotGrant grant, long nowNanos) {
        QueueBuckets queue = buckets.queue(grant.queue());
        if (queue != null && queue.slots() != null) {
            queue.slots().receive(grant, nowNanos);
            buckets.scheduleSlots(queue, nowNanos);
        }
    }

    /**
     * Returns when the latest of the restored buckets and ledgers was written, in milliseconds since the epoch; 0 if
     * there are none.
     */
    public long lastWriteMs() {
        long writtenNanos = buckets.lastWriteNanos();
        for (SlotLedger ledger : ledgers.values()) {
            writtenNanos = Math.max(writtenNanos, ledger.state().clockNanos());
        }
        return writtenNanos / NANOS_PER_MS;
    }

    /** Sets the time of all queues back, because it was wrong. */
    public void stepBack(long nowNanos) {
        buckets.stepBack(nowNanos);
        for (String queue : List.copyOf(ledgers.keySet())) {
            ledgers.get(queue).stepBack(nowNanos);
            settleLedger(queue, nowNanos);
        }
    }

    /**
     * Returns whether the shaper needs the time: requests wait here, or partitions use a total whose ledger is here.
     */
    public boolean needsTime() {
        return hasWaiting() || !ledgers.isEmpty();
    }

    /** Returns how many keys of all queues are on the heap. */
    public long hotKeys() {
        return buckets.hotCount();
    }

    /** Returns whether any request waits. */
    public boolean hasWaiting() {
        return buckets.waiting() > 0;
    }

    /**
     * Puts changed rules in force, also for waiting requests, unless their queue has to drain before. Some buckets
     * adopt them now, others with each {@link #tick}, and each at the latest before it is next used.
     */
    public void refresh(long nowNanos) {
        List.copyOf(buckets.queues().keySet()).forEach(id -> apply(id, rules.of(id), nowNanos));
    }

    /**
     * Releases and expires what is due, and makes buckets adopt changed rules.
     *
     * @param steps the most steps of work: up to half for changed rules, and half of the rest for queues with a total,
     *     so that none of these has to wait for the others. Remaining work is due at once
     */
    public void tick(long nowNanos, int steps) {
        WorkBudget changes = new WorkBudget(Math.max(1, steps / 2));
        buckets.catchUp(nowNanos, changes);
        while (ledgerTimers.firstNanos() <= nowNanos) {
            grantSlots(ledgerTimers.first(), nowNanos);
        }
        deliver(nowNanos);
        int left = steps - changes.spent();
        left -= workInSlots(nowNanos, (left + 1) / 2);
        left = work(nowNanos, left);
        workInSlots(nowNanos, left);
        buckets.removeDrained(nowNanos);
        deliver(nowNanos);
    }

    /** Works on the queues with a total that have something due. Returns how many steps that took. */
    private int workInSlots(long nowNanos, int steps) {
        int spent = 0;
        while (spent < steps && buckets.slotTimers().firstNanos() <= nowNanos) {
            QueueBuckets queue = buckets.queue(buckets.slotTimers().first());
            spent += releaseInSlots(queue, nowNanos, Math.min(steps - spent, STEPS_PER_TURN));
        }
        return spent;
    }

    /** Works on the buckets that are due, alternating between hot and cold ones. Returns how many steps are left. */
    private int work(long nowNanos, int steps) {
        int left = steps;
        boolean isMore = true;
        while (left > 0 && isMore) {
            LeakyBucketQueue bucket = buckets.due(nowNanos);
            isMore = bucket != null;
            if (isMore) {
                WorkBudget turn = new WorkBudget(Math.min(left, STEPS_PER_TURN));
                if (buckets.queue(bucket.id().queue()).slots() == null) {
                    bucket.drain(nowNanos, turn);
                } else {
                    bucket.expire(nowNanos, turn);
                }
                left -= Math.max(1, turn.spent());
                buckets.reschedule(bucket, nowNanos, nowNanos);
            }
            WorkBudget reading = new WorkBudget(left);
            isMore |= left > 0 && buckets.loadDue(nowNanos, reading);
            left -= reading.spent();
        }
        return left;
    }

    private void grantSlots(String id, long nowNanos) {
        SlotLedger ledger = ledgers.get(id);
        QueueRules current = rules.of(id);
        if (current != null && current.total() != null) {
            ledger.setRules(current.total(), current.tiers());
        }
        ledger.grant(nowNanos).forEach(messenger::grant);
        settleLedger(id, nowNanos);
    }

    private void settleLedger(String id, long nowNanos) {
        SlotLedger ledger = ledgers.get(id);
        if (ledger.isIdle(nowNanos)) {
            ledgers.remove(id);
            ledgerTimers.cancel(id);
            stores.deleteLedger(id);
            return;
        }
        if (ledger.testAndClearChanged()) {
            stores.saveLedger(id, ledger.state());
        }
        ledgerTimers.set(id, Math.max(nowNanos, ledger.dueNanos()));
    }

    /**
     * Releases the requests with a slot that is due, and sends a report if one is due. Returns how many steps
     * that took.
     */
    private int releaseInSlots(QueueBuckets queue, long nowNanos, int most) {
        PartitionSlots slots = queue.slots();
        buckets.loadContending(queue, nowNanos); // after a restart, the hot buckets need not be the first ones
        long horizonNanos = nowNanos + queue.rules().lookAheadMs() * NANOS_PER_MS;
        int steps = 1;
        for (BucketId id = slots.first(nowNanos); id != null && steps < most; id = slots.first(nowNanos)) {
            LeakyBucketQueue bucket = queue.hot.get(id);
            long cost = bucket.headCost();
            long turnNanos = bucket.headTurnNanos();
            long atNanos = slots.slotNanos(cost, turnNanos, nowNanos);
            if (atNanos > horizonNanos) {
                break;
            }
            steps++;
            if (atNanos > bucket.headExpiryNanos()) {
                buckets.stopContending(bucket, nowNanos);
            } else {
                slots.take(id, cost, turnNanos, nowNanos);
                bucket.releaseHead(atNanos, nowNanos);
                buckets.reschedule(bucket, 0, nowNanos);
            }
        }
        SlotReport report = slots.report(queue.backlog.requests(), nowNanos);
        if (report != null) {
            messenger.report(report);
        }
        buckets.scheduleSlots(queue, nowNanos);
        return steps;
    }

    private void deliver(long nowNanos) {
        if (localMessenger != null) {
            localMessenger.deliver(nowNanos);
        }
    }

    /**
     * Returns when there is something to do; {@link Long#MAX_VALUE} if nothing waits and no bucket has to be deleted.
     */
    public long dueNanos() {
        return Math.min(buckets.dueNanos(), ledgerTimers.firstNanos());
    }

    /** Returns how a request that arrives now would be answered. Changes nothing. */
    public Decision check(Admission admission, long nowNanos) {
        if (admission.repeated()) {
            return outlet.repeatedDecision(admission, nowNanos / NANOS_PER_MS);
        }
        QueueRules inForce = rules.of(admission.queue());
        QueueRules current = admitting(inForce, inUse(admission.queue(), inForce, nowNanos));
        Decision fault = fault(admission, current, nowNanos);
        if (fault != null) {
            return fault;
        }
        LeakyBucketQueue bucket = peekBucket(BucketId.of(admission), current, nowNanos);
        return bucket == null ? noQueue(admission, nowNanos) : bucket.check(admission, current, nowNanos);
    }

    /**
     * Returns the current state of the part of a queue that is here; null if there is no such queue, or if it was
     * deleted and is no longer in use. If the queue drains because it got another key, returns the state of the old
     * buckets. Changes nothing.
     */
    public QueueView view(String id, long nowNanos) {
        QueueRules inForce = rules.of(id);
        QueueBuckets queue = inUse(id, inForce, nowNanos);
        QueueRules current = admitting(inForce, queue);
        QueueRules last = current != null ? current : queue == null ? null : queue.rules();
        if (last == null) {
            return null;
        }
        if (!last.isKeyed()) {
            return peekBucket(new BucketId(id, List.of()), current, nowNanos).view(current, nowNanos);
        }
        if (queue == null) {
            return QueueView.ofNoBuckets(last);
        }
        List<QueueView.KeyView> longest = new ArrayList<>();
        for (BucketId bucket : queue.longest.ids()) {
            longest.add(buckets.peek(bucket).viewOfKey(current, nowNanos));
        }
        return combinedView(queue, last, current == null, longest, nowNanos);
    }

    /**
     * Returns the queue; null if there is none, or if it had to drain and is no longer in use, but not removed yet.
     *
     * @param inForce the rules in force, null if the queue was deleted
     */
    private QueueBuckets inUse(String id, QueueRules inForce, long nowNanos) {
        QueueBuckets queue = buckets.queue(id);
        return queue == null || !queue.canAdopt(inForce) && queue.isUnused(nowNanos) ? null : queue;
    }

    /**
     * Returns the rules by which requests are admitted: those in force, or null while a queue drains that was deleted
     * or got another key.
     *
     * @param queue the queue that is in use, null if there is none
     */
    private static QueueRules admitting(QueueRules inForce, QueueBuckets queue) {
        return queue == null || queue.canAdopt(inForce) ? inForce : null;
    }

    /**
     * Returns the current state of a bucket, null if there is no such queue. If the queue has no key, but here it
     * drains because it had one, returns the state of the old buckets. Changes nothing.
     */
    public QueueView view(BucketId id, long nowNanos) {
        QueueRules inForce = rules.of(id.queue());
        QueueBuckets queue = inUse(id.queue(), inForce, nowNanos);
        QueueRules current = admitting(inForce, queue);
        if (current == null && (queue == null || queue.rules().isKeyed() && !id.isKeyed())) {
            return view(id.queue(), nowNanos);
        }
        LeakyBucketQueue bucket = peekBucket(id, inForce, nowNanos);
        return bucket == null ? null : bucket.view(current, nowNanos);
    }

    /**
     * Returns the current states of the first {@code most} queues in use, by id, without those that had to drain and in
     * which nothing waits. Changes nothing.
     */
    public List<QueueView> views(int most, long nowNanos) {
        return buckets.queues().values().stream()
                .filter(queue -> queue.backlog.requests() > 0 || queue.canAdopt(rules.of(queue.id())))
                .map(queue -> view(queue.id(), nowNanos))
                .filter(Objects::nonNull) // unless it was deleted since
                .limit(most)
                .toList();
    }

    /**
     * Returns the current states of the first {@code most} queues, by id, that are not in force and in which requests
     * wait. Changes nothing.
     */
    public List<QueueView> draining(int most, long nowNanos) {
        return buckets.queues().values().stream()
                .filter(queue -> queue.backlog.requests() > 0 && rules.of(queue.id()) == null)
                .map(queue -> view(queue.id(), nowNanos))
                .filter(view -> view != null && view.waiting() > 0)
                .limit(most)
                .toList();
    }

    private static QueueView combinedView(
            QueueBuckets queue, QueueRules rules, boolean isDeleted, List<QueueView.KeyView> longest, long nowNanos) {
        QueueBacklog backlog = queue.backlog;
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
                queue.size(),
                (long) queue.hot.size(),
                QueueView.drainMs(rules, backlog.tokens(), longest),
                LongestKeys.of(longest));
    }

    /** Returns a bucket for queries. If it does not exist, returns an empty one that is not stored. */
    private LeakyBucketQueue peekBucket(BucketId id, QueueRules current, long nowNanos) {
        LeakyBucketQueue bucket = buckets.peek(id);
        return bucket == null && current != null ? buckets.fresh(id, current, nowNanos) : bucket;
    }

    /** Returns the denial of a request that cannot be admitted to a bucket of an existing queue; null if it can. */
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
            return QueueDecisions.noKey(admission, missing, nowNanos / NANOS_PER_MS);
        }
        if (!key.equals(admission.key())) {
            return noQueue(admission, nowNanos); // sent before its sender knew the key fields, to the wrong partition
        }
        QueueBuckets queue = buckets.queue(admission.queue());
        boolean isFull = queue != null
                && queue.slots() != null
                && current.total() != null
                && queue.slots().isFull(queue.backlog.requests())
                && !isCancel(admission);
        return isFull ? full(admission, current, queue.slots(), nowNanos) : null;
    }

    /** Returns a denial whose retry time is that of the partition's next release, as far as it is known. */
    private static Decision full(Admission admission, QueueRules rules, PartitionSlots slots, long nowNanos) {
        QueueTotal total = rules.total();
        long nextNanos = slots.nextReleaseNanos(nowNanos) - rules.lookAheadMs() * NANOS_PER_MS;
        return QueueDecisions.denied(
                admission,
                Reason.QUEUE_FULL,
                LimitStatus.of("total.capacity", total.capacity()),
                Math.max(1, Math.floorDiv(nextNanos, NANOS_PER_MS) + 1 - nowNanos / NANOS_PER_MS),
                nowNanos / NANOS_PER_MS);
    }

    private static Decision noQueue(Admission admission, long nowNanos) {
        long nowMs = nowNanos / NANOS_PER_MS;
        return isCancel(admission)
                ? QueueDecisions.cancelResult(admission, false, nowMs)
                : QueueDecisions.noQueue(admission, nowMs);
    }

    /** Returns the bucket, null if there is no such queue. */
    private LeakyBucketQueue bucket(BucketId id, QueueRules current, long nowNanos) {
        LeakyBucketQueue bucket = buckets.get(id, nowNanos);
        return bucket == null && current != null ? buckets.create(id, current, nowNanos) : bucket;
    }

    /** @param current null if the queue was deleted */
    private void apply(String id, QueueRules current, long nowNanos) {
        QueueBuckets queue = buckets.queue(id);
        if (queue != null) {
            buckets.apply(current, queue, nowNanos);
            buckets.removeDrained(nowNanos);
        }
    }

    private static boolean isCancel(Admission admission) {
        return admission.request().kind() == RequestKind.CANCEL;
    }
}
