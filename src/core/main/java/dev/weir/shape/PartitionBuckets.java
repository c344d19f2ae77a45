package dev.weir.shape;

import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.total.SlotMessenger;
import dev.weir.shape.total.TimerQueue;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * All buckets of a partition: at most so many of those with a key are hot, as objects on the heap; the others are cold,
 * as a state and a timer in the stores. If there are too many hot ones, those due last are put away. A cold one is read
 * when its timer is due, and when something else is to be done with it.
 *
 * <pre>
 *              fresh, or its timer is due
 *   none, cold ──────────────────────────▶ hot ──▶ idle: deleted
 *        ▲                                  │
 *        └──────────────────────────────────┘ too many are hot, and this is due last
 * </pre>
 *
 * <p>Of the buckets that contend for a slot of their queue's total, those of the lowest tier whose turn comes last are
 * put away if there is no other, and read again before their turn. A bucket of more flows than its state lists stays
 * hot.
 */
final class PartitionBuckets {

    private static final long NANOS_PER_MS = 1_000_000;

    /** How many buckets are put away at most when one is added. */
    private static final int MAX_UNLOADS = 2;

    /** How many entries of a wheel are looked at when a bucket is searched that contends. */
    private static final int MAX_WHEEL_READS = 1_000;

    /** How many buckets that contend are looked at when one is to be put away. */
    private static final int MAX_CANDIDATES = 16;

    /** How many buckets take over changed rules in the same call. */
    private static final int MAX_UPDATES_AT_ONCE = 500;

    private final Shaper.Stores stores;
    private final Outlet outlet;
    private final SlotMessenger messenger;
    private final int hotKeys;
    private final Map<String, QueueBuckets> queues = new TreeMap<>();
    private final HotTimers timers = new HotTimers();
    private final TimerQueue<String> slotTimers = new TimerQueue<>(); // of queues with a total
    private final TreeSet<QueueBuckets> byColdDue =
            new TreeSet<>(Comparator.comparingLong(QueueBuckets::coldDueNanos).thenComparing(QueueBuckets::id));
    private final Set<QueueBuckets> outdated = new LinkedHashSet<>();
    private long outdatedSinceNanos;
    private long hotCount;
    private long waiting;
    private long lastWriteNanos;

    PartitionBuckets(Shaper.Stores stores, Outlet outlet, SlotMessenger messenger, int hotKeys) {
        this.stores = stores;
        this.outlet = outlet;
        this.messenger = messenger;
        this.hotKeys = hotKeys;
    }

    void restore(QueueState state) {
        add(state);
    }

    /** Restores a bucket of a restored queue. */
    void restore(BucketState state) {
        QueueBuckets queue = queues.get(state.id().queue());
        lastWriteNanos = Math.max(lastWriteNanos, state.outflow().clockNanos());
        if (state.contents() != null) {
            state.contents().addTo(queue.backlog);
            queue.longest.update(
                    state.id(), state.contents().size(), state.contents().oldestEnqueuedAtMs());
        }
        if (state.timers().isEmpty()) {
            LeakyBucketQueue bucket = addHot(queue, state);
            if (bucket.isOutdated(queue.rules())) {
                queue.outdated.add(bucket);
            }
        } else {
            queue.restoreCold(state);
        }
    }

    /** Continues once all is restored. */
    void resume() {
        outdatedSinceNanos = lastWriteNanos;
        for (QueueBuckets queue : queues.values()) {
            for (LeakyBucketQueue bucket : queue.hot.values()) {
                bucket.resume();
                queue.recordWaiting(bucket);
                schedule(queue, bucket, 0);
            }
            queue.countCold();
            if (queue.slots() != null) {
                scheduleSlots(queue, lastWriteNanos);
            }
            trackCold(queue);
        }
    }

    /** When the latest of the restored states was written, ns since the epoch; 0 if there are none. */
    long lastWriteNanos() {
        return lastWriteNanos;
    }

    QueueBuckets queue(String id) {
        return queues.get(id);
    }

    Map<String, QueueBuckets> queues() {
        return queues;
    }

    long waiting() {
        return waiting;
    }

    /** How many buckets with a key are on the heap. */
    long hotCount() {
        return hotCount;
    }

    /** The bucket, hot from now on and with the rules in force; null if there is none. */
    LeakyBucketQueue get(BucketId id, long nowNanos) {
        QueueBuckets queue = queues.get(id.queue());
        if (queue == null) {
            return null;
        }
        LeakyBucketQueue bucket = queue.hot.get(id);
        BucketState state = bucket == null && id.isKeyed() ? stores.load(id) : null;
        if (state != null) {
            queue.removeCold(state);
            bucket = addHot(queue, state);
            bucket.markChanged(); // its state must not name the timers any more
            queue.stepBack(bucket, state);
            trackCold(queue);
        }
        if (bucket != null) {
            queue.update(bucket, nowNanos);
        }
        return bucket;
    }

    /** The bucket to look at; null if there is none. Leaves all as it is. */
    LeakyBucketQueue peek(BucketId id) {
        QueueBuckets queue = queues.get(id.queue());
        LeakyBucketQueue bucket = queue == null ? null : queue.hot.get(id);
        BucketState state = queue == null || bucket != null || !id.isKeyed() ? null : stores.load(id);
        if (state == null) {
            return bucket;
        }
        LeakyBucketQueue read = newBucket(state, queue.pacedRules(), new QueueBacklog(more -> {}));
        queue.stepBack(read, state);
        return read;
    }

    /** A bucket that nothing was sent to yet, to look at. */
    LeakyBucketQueue fresh(BucketId id, QueueRules rules, long nowNanos) {
        PacedQueueRules paced = PacedQueueRules.of(rules);
        return newBucket(LeakyBucketQueue.fresh(id, paced, nowNanos), paced, new QueueBacklog(more -> {}));
    }

    /** Adds a bucket that there is not. */
    LeakyBucketQueue create(BucketId id, QueueRules rules, long nowNanos) {
        QueueBuckets queue = queues.get(id.queue());
        if (queue == null) {
            queue = add(new QueueState(rules, 0));
            stores.save(queue.state());
        }
        LeakyBucketQueue bucket = addHot(queue, LeakyBucketQueue.fresh(id, queue.pacedRules(), nowNanos));
        bucket.markChanged();
        return bucket;
    }

    /**
     * Plans when a bucket is due after something was done with it, and saves it if it changed; or deletes it if it is
     * idle.
     *
     * @param earliestNanos it is planned no earlier: a bucket that is due still goes behind those that are due before
     *     then
     */
    void reschedule(LeakyBucketQueue bucket, long earliestNanos, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        queue.recordWaiting(bucket);
        String before = queue.slots() == null ? null : queue.slots().contendingTier(bucket.id());
        if (bucket.id().isKeyed() && bucket.isIdle()) {
            stores.delete(bucket.id());
            removeHot(bucket);
            if (queue.slots() != null) {
                queue.slots().forget(bucket.id());
            }
        } else {
            schedule(queue, bucket, earliestNanos);
        }
        loadContending(queue, before, nowNanos);
        if (queue.slots() != null) {
            loadContending(queue, queue.slots().contendingTier(bucket.id()), nowNanos);
            scheduleSlots(queue, bucket.nowNanos());
        }
        unload(queue, nowNanos);
        if (queue.hot.get(bucket.id()) == bucket) {
            save(bucket);
        }
    }

    /** Lets a bucket contend for no slot: what leaves it next expires before it could have one. */
    void forgetSlot(LeakyBucketQueue bucket, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        String tier = queue.slots().contendingTier(bucket.id());
        queue.slots().forget(bucket.id());
        timers.schedule(bucket, bucket.nextExpiryNanos(), bucket.isSmall());
        loadContending(queue, tier, nowNanos);
        unload(queue, nowNanos);
    }

    /** Reads cold buckets that contend until in each tier the hot ones are those whose turn comes first. */
    void loadContending(QueueBuckets queue, long nowNanos) {
        queue.coldTiers().forEach(tier -> loadContending(queue, tier, nowNanos));
    }

    /** Reads cold buckets that contend in a tier until the hot ones are those whose turn comes first. */
    private void loadContending(QueueBuckets queue, String tier, long nowNanos) {
        if (tier == null) {
            return;
        }
        WorkBudget budget = new WorkBudget(MAX_WHEEL_READS);
        for (BucketId id = queue.nextContending(tier, budget); id != null; id = queue.nextContending(tier, budget)) {
            LeakyBucketQueue bucket = get(id, nowNanos);
            if (bucket != null) {
                schedule(queue, bucket, 0);
                save(bucket);
            }
        }
    }

    private void unload(QueueBuckets settled, long nowNanos) {
        for (int i = 0; i < MAX_UNLOADS && hotCount > hotKeys; i++) {
            LeakyBucketQueue bucket = timers.lastUnloadable();
            bucket = bucket == null ? lastContending(settled) : bucket;
            if (bucket == null) {
                return;
            }
            unload(bucket, nowNanos);
        }
    }

    /**
     * Of the buckets of a queue that contend for a slot, one that is not needed soon and can be put away; null if there
     * is none.
     */
    private static LeakyBucketQueue lastContending(QueueBuckets queue) {
        if (queue.slots() == null) {
            return null;
        }
        int looks = MAX_CANDIDATES;
        for (BucketId id : queue.slots().leastUrgent()) {
            LeakyBucketQueue bucket = queue.hot.get(id);
            if (bucket.isSmall()) {
                return bucket;
            }
            if (--looks == 0) {
                break;
            }
        }
        return null;
    }

    private void save(LeakyBucketQueue bucket) {
        if (bucket.testAndClearChanged()) {
            stores.save(bucket.state());
        }
    }

    /** Puts rules in force; see {@link QueueBuckets#apply}. */
    void apply(QueueRules current, QueueBuckets queue, long nowNanos) {
        if (queue.apply(current)) {
            if (queue.slots() == null) {
                slotTimers.cancel(queue.id());
            }
            stores.save(queue.state());
            trackOutdated(queue, nowNanos);
            catchUp(queue, nowNanos, new WorkBudget(MAX_UPDATES_AT_ONCE));
        }
    }

    /** Sets the time of all buckets back: of the hot ones now, of the cold ones one by one. */
    void stepBack(long nowNanos) {
        for (QueueBuckets queue : queues.values()) {
            if (queue.slots() != null) {
                queue.slots().stepBack();
            }
            if (queue.stepBack(nowNanos)) {
                stores.save(queue.state());
                trackOutdated(queue, nowNanos);
            }
            List<LeakyBucketQueue> hotOnes = List.copyOf(queue.hot.values());
            hotOnes.forEach(bucket -> bucket.stepBack(nowNanos));
            for (LeakyBucketQueue bucket : hotOnes) {
                if (queue.hot.get(bucket.id()) == bucket) { // not put away meanwhile
                    reschedule(bucket, 0, nowNanos);
                }
            }
        }
    }

    /**
     * Lets buckets take over rules, or the time, that were changed: the hot ones first, then those that are due first.
     */
    void catchUp(long nowNanos, WorkBudget budget) {
        for (QueueBuckets queue : List.copyOf(outdated)) {
            catchUp(queue, nowNanos, budget);
        }
    }

    private void catchUp(QueueBuckets queue, long nowNanos, WorkBudget budget) {
        while (!queue.outdated.isEmpty() && budget.trySpend()) {
            LeakyBucketQueue bucket = queue.outdated.remove();
            if (queue.hot.get(bucket.id()) == bucket) {
                queue.update(bucket, nowNanos);
                reschedule(bucket, 0, nowNanos);
            }
        }
        while (queue.hasStale()) {
            BucketId id = queue.nextStale(budget);
            if (id == null) {
                break;
            }
            LeakyBucketQueue bucket = get(id, nowNanos);
            if (bucket != null) {
                reschedule(bucket, 0, nowNanos);
            }
        }
        trackCold(queue);
    }

    /** When the next bucket is due or is to be read; {@link Long#MAX_VALUE} if none is. */
    long dueNanos() {
        long dueNanos = Math.min(slotTimers.firstNanos(), Math.min(timers.dueNanos(), coldDueNanos()));
        return outdated.isEmpty() ? dueNanos : Math.min(dueNanos, outdatedSinceNanos);
    }

    /** The hot bucket that is due first, with the rules in force; null if none is due. */
    LeakyBucketQueue due(long nowNanos) {
        if (timers.dueNanos() > nowNanos) {
            return null;
        }
        LeakyBucketQueue bucket = timers.first();
        queues.get(bucket.id().queue()).update(bucket, nowNanos);
        return bucket;
    }

    /** Reads a cold bucket that may be due; returns false if there is none. */
    boolean loadDue(long nowNanos, WorkBudget budget) {
        if (coldDueNanos() > nowNanos) {
            return false;
        }
        QueueBuckets queue = byColdDue.first();
        BucketId id = queue.cold.next(budget);
        LeakyBucketQueue bucket = id == null ? null : get(id, nowNanos);
        if (bucket != null) {
            schedule(queue, bucket, 0);
            if (queue.slots() != null) {
                scheduleSlots(queue, nowNanos);
            }
            if (bucket.scheduledNanos()
                    > nowNanos) { // else there is work to do first, even if all hot ones are due before it
                unload(queue, nowNanos);
            }
            if (queue.hot.get(id) == bucket) {
                save(bucket);
            }
        }
        return true;
    }

    private long coldDueNanos() {
        return byColdDue.isEmpty() ? Long.MAX_VALUE : byColdDue.first().coldDueNanos();
    }

    private QueueBuckets add(QueueState state) {
        QueueBuckets queue = new QueueBuckets(state, stores, messenger, more -> waiting += more);
        queues.put(queue.id(), queue);
        return queue;
    }

    private LeakyBucketQueue newBucket(BucketState state, PacedQueueRules rules, QueueBacklog backlog) {
        return new LeakyBucketQueue(state, rules, stores.of(state.id()), backlog, outlet);
    }

    private LeakyBucketQueue addHot(QueueBuckets queue, BucketState state) {
        LeakyBucketQueue bucket = newBucket(state, queue.pacedRules(), queue.backlog);
        queue.hot.put(state.id(), bucket);
        hotCount += state.id().isKeyed() ? 1 : 0;
        return bucket;
    }

    private void removeHot(LeakyBucketQueue bucket) {
        timers.cancel(bucket);
        queues.get(bucket.id().queue()).hot.remove(bucket.id());
        hotCount -= bucket.id().isKeyed() ? 1 : 0;
    }

    private void unload(LeakyBucketQueue bucket, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        if (bucket.isOutdated(queue.rules())) {
            queue.update(bucket, nowNanos);
            schedule(queue, bucket, 0); // or it would be read again when it was due by the rules of before
        }
        bucket.testAndClearChanged();
        stores.save(bucket.state().withTimers(queue.addCold(bucket, nowNanos)));
        removeHot(bucket);
        trackCold(queue);
    }

    private void schedule(QueueBuckets queue, LeakyBucketQueue bucket, long earliestNanos) {
        boolean mayCool = bucket.isSmall();
        long nanos = bucket.dueNanos();
        if (queue.slots() != null) {
            nanos = queue.slots().update(bucket);
            mayCool = mayCool && queue.slots().contendingTier(bucket.id()) == null;
        }
        queue.countCold();
        if (nanos < Long.MAX_VALUE) {
            timers.schedule(bucket, Math.max(nanos, earliestNanos), mayCool);
        } else {
            timers.cancel(bucket);
        }
    }

    /** Plans when a queue with a total has something to release or to report. */
    void scheduleSlots(QueueBuckets queue, long nowNanos) {
        slotTimers.set(queue.id(), Math.max(nowNanos, slotsDueNanos(queue, nowNanos)));
    }

    private static long slotsDueNanos(QueueBuckets queue, long nowNanos) {
        PartitionSlots slots = queue.slots();
        long lookAheadNanos = queue.rules().lookAheadMs() * NANOS_PER_MS;
        BucketId first = slots.first(nowNanos);
        long slotNanos = Long.MAX_VALUE;
        if (first != null) {
            LeakyBucketQueue bucket = queue.hot.get(first);
            slotNanos = slots.slotNanos(bucket.headCost(), bucket.headTurnNanos(), nowNanos);
        }
        long dueNanos = slotNanos == Long.MAX_VALUE ? slotNanos : slotNanos - lookAheadNanos;
        return slots.dueNanos(queue.backlog.requests(), dueNanos);
    }

    /** When queues with a total have something to release or to report, by queue. */
    TimerQueue<String> slotTimers() {
        return slotTimers;
    }

    private void trackOutdated(QueueBuckets queue, long nowNanos) {
        outdatedSinceNanos = outdated.isEmpty() ? nowNanos : outdatedSinceNanos;
        trackCold(queue);
    }

    private void trackCold(QueueBuckets queue) {
        if (queue.coldDueNanos() != queue.cold.dueNanos()) {
            byColdDue.remove(queue);
            queue.updateColdDue();
            if (queue.coldDueNanos() < Long.MAX_VALUE) {
                byColdDue.add(queue);
            }
        }
        if (queue.hasOutdated()) {
            outdated.add(queue);
        } else {
            outdated.remove(queue);
        }
    }
}
