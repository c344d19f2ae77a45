package dev.weir.shape;

import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.total.SlotMessenger;
import dev.weir.shape.total.SlotReport;
import dev.weir.shape.total.TimerQueue;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * All buckets of a partition. A bounded number of those with a key is hot, that is, on the heap; the others are cold,
 * with a state and a timer in the stores. If too many are hot, those due last are unloaded. A cold bucket is loaded
 * when its timer is due and when it is used otherwise.
 *
 * <pre>
 *              new, or its timer is due
 *   none, cold ──────────────────────────▶ hot ──▶ idle: deleted
 *        ▲                                  │
 *        └──────────────────────────────────┘ too many are hot, and this one is due last
 * </pre>
 *
 * <p>The bucket of a queue without key is hot as long as the queue exists. A queue that was deleted, or has got another
 * key, drains and is removed with its last bucket. So the buckets of a queue always have the same key fields.
 *
 * <p>If no other bucket can be unloaded, buckets that contend for a slot of their queue's total are: in the lowest
 * tier, those whose turn is last. They are loaded again before their turn. A bucket with more flows than its state can
 * list stays hot.
 */
final class PartitionBuckets {

    private static final long NANOS_PER_MS = 1_000_000;

    /** The most buckets that are unloaded when one is added. */
    private static final int MAX_UNLOADS = 2;

    /** The most entries of a wheel that are read in search of a contending bucket. */
    private static final int MAX_WHEEL_READS = 1_000;

    /** The most contending buckets that are considered for unloading. */
    private static final int MAX_CANDIDATES = 16;

    /** The most buckets that adopt changed rules in the same call. */
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
    private final Set<QueueBuckets> drained = new LinkedHashSet<>(); // some may be in use again
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

    /** Starts work after everything is restored. */
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

    /**
     * Returns when the latest of the restored states was written, in nanoseconds since the epoch; 0 if there are none.
     */
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

    /** Returns how many buckets with a key are on the heap. */
    long hotCount() {
        return hotCount;
    }

    /** Returns a bucket, loaded if it was cold and with the rules in force; null if there is none. */
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
            bucket.markChanged(); // so that its stored state no longer names the timers
            queue.stepBack(bucket, state);
            trackCold(queue);
        }
        if (bucket != null) {
            queue.update(bucket, nowNanos);
        }
        return bucket;
    }

    /** Returns a bucket for queries; null if there is none. Changes nothing. */
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

    /** Returns an empty bucket for queries. It is not stored. */
    LeakyBucketQueue fresh(BucketId id, QueueRules rules, long nowNanos) {
        PacedQueueRules paced = PacedQueueRules.of(rules);
        return newBucket(LeakyBucketQueue.fresh(id, paced, nowNanos), paced, new QueueBacklog(more -> {}));
    }

    /** Creates a bucket that does not exist yet. */
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
     * Schedules a bucket after it was used, and saves it if it changed; or deletes it if it is idle.
     *
     * @param earliestNanos the earliest time for which it is scheduled, so that a bucket which remains due goes behind
     *     those that were due before
     */
    void reschedule(LeakyBucketQueue bucket, long earliestNanos, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        queue.recordWaiting(bucket);
        String before = queue.slots() == null ? null : queue.slots().contendingTier(bucket.id());
        if (queue.isRemovable(bucket)) {
            stores.delete(bucket.id());
            removeHot(bucket);
            if (queue.slots() != null) {
                queue.slots().remove(bucket.id());
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
        trackDrained(queue);
    }

    /** Stops a bucket from contending for a slot, because its first request expires before it could get one. */
    void stopContending(LeakyBucketQueue bucket, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        String tier = queue.slots().contendingTier(bucket.id());
        queue.slots().remove(bucket.id());
        timers.schedule(bucket, bucket.nextExpiryNanos(), bucket.isSmall());
        loadContending(queue, tier, nowNanos);
        unload(queue, nowNanos);
    }

    /** Loads contending cold buckets until the hot ones of each tier are those whose turn is first. */
    void loadContending(QueueBuckets queue, long nowNanos) {
        queue.coldTiers().forEach(tier -> loadContending(queue, tier, nowNanos));
    }

    /** Loads contending cold buckets of a tier until the hot ones are those whose turn is first. */
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

    /** Returns a contending bucket of a queue that is not needed soon and can be unloaded; null if there is none. */
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

    /**
     * Returns a bucket in which a request waits whose priority is lower than this one; null if none is found. Looks at a
     * bounded number: those that contend in the lowest tier, on the heap or not; the given one; and the longest keys.
     * The bucket must be {@linkplain #reschedule rescheduled}.
     */
    LeakyBucketQueue holderBelow(int priority, BucketId own, long nowNanos) {
        QueueBuckets queue = queues.get(own.queue());
        for (String tier : queue.slots().tiersBelow(priority)) {
            Iterator<BucketId> hot = queue.slots().leastUrgentOf(tier).iterator();
            BucketId id = hot.hasNext() ? hot.next() : queue.anyContending(tier, new WorkBudget(MAX_WHEEL_READS));
            LeakyBucketQueue holder = id == null ? null : get(id, nowNanos);
            if (holder != null && holder.holdsBelow(priority)) {
                return holder;
            }
            if (holder != null) {
                reschedule(holder, 0, nowNanos); // the priorities have changed
            }
        }
        return Stream.concat(Stream.of(own), queue.longest.ids().stream().sorted())
                .filter(id -> holdsBelow(id, priority))
                .findFirst()
                .map(id -> get(id, nowNanos))
                .orElse(null);
    }

    private boolean holdsBelow(BucketId id, int priority) {
        LeakyBucketQueue bucket = peek(id);
        return bucket != null && bucket.holdsBelow(priority);
    }

    private void save(LeakyBucketQueue bucket) {
        if (bucket.testAndClearChanged()) {
            stores.save(bucket.state());
        }
    }

    /** Puts rules in force, or makes the queue drain; see {@link QueueBuckets#apply}. */
    void apply(QueueRules current, QueueBuckets queue, long nowNanos) {
        if (queue.apply(current)) {
            if (queue.slots() == null) {
                slotTimers.cancel(queue.id());
            }
            stores.save(queue.state());
            trackOutdated(queue, nowNanos);
            catchUp(queue, nowNanos, new WorkBudget(MAX_UPDATES_AT_ONCE));
        }
        LeakyBucketQueue only = queue.only();
        if (queue.isDraining() && only != null) {
            queue.update(only, nowNanos);
            reschedule(only, 0, nowNanos); // for when it can be removed
        }
        trackDrained(queue);
    }

    private void trackDrained(QueueBuckets queue) {
        if (queue.isDrained()) {
            drained.add(queue);
        }
    }

    /** Removes the queues that had to drain and have no buckets left. */
    void removeDrained(long nowNanos) {
        for (QueueBuckets queue : drained) {
            if (queue.isDrained()) {
                remove(queue, nowNanos);
            }
        }
        drained.clear();
    }

    private void remove(QueueBuckets queue, long nowNanos) {
        SlotReport last = queue.slots() == null ? null : queue.slots().report(0, nowNanos);
        if (last != null) {
            messenger.report(last);
        }
        slotTimers.cancel(queue.id());
        byColdDue.remove(queue);
        outdated.remove(queue);
        queues.remove(queue.id());
        stores.deleteQueue(queue.id());
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
                if (queue.hot.get(bucket.id()) == bucket) { // not unloaded meanwhile
                    reschedule(bucket, 0, nowNanos);
                }
            }
        }
    }

    /** Makes buckets adopt changed rules, or a step of the time: hot ones first, then those that are due first. */
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

    /** Returns when the next bucket is due or must be loaded; {@link Long#MAX_VALUE} if none is. */
    long dueNanos() {
        long dueNanos = Math.min(slotTimers.firstNanos(), Math.min(timers.dueNanos(), coldDueNanos()));
        return outdated.isEmpty() ? dueNanos : Math.min(dueNanos, outdatedSinceNanos);
    }

    /** Returns the hot bucket that is due first, with the rules in force; null if none is due. */
    LeakyBucketQueue due(long nowNanos) {
        if (timers.dueNanos() > nowNanos) {
            return null;
        }
        LeakyBucketQueue bucket = timers.first();
        queues.get(bucket.id().queue()).update(bucket, nowNanos);
        return bucket;
    }

    /** Loads a cold bucket that may be due. Returns false if there is none. */
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
            // a bucket that is already due stays hot, since it has work to do, even if all hot ones are due before it
            if (bucket.scheduledNanos() > nowNanos) {
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
            schedule(queue, bucket, 0); // otherwise its timer would be that of the previous rules
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

    /** Schedules a queue with a total for when it has something to release or to report. */
    void scheduleSlots(QueueBuckets queue, long nowNanos) {
        slotTimers.set(queue.id(), Math.max(nowNanos, slotsDueNanos(queue, nowNanos)));
    }

    private static long slotsDueNanos(QueueBuckets queue, long nowNanos) {
        PartitionSlots slots = queue.slots();
        long lookAheadNanos = queue.rules().lookAheadMs() * NANOS_PER_MS;
        long slotNanos = slots.nextNanos(nowNanos);
        long dueNanos = slotNanos == Long.MAX_VALUE ? slotNanos : slotNanos - lookAheadNanos;
        return slots.dueNanos(queue.backlog.requests(), dueNanos);
    }

    /** Returns when queues with a total have something to release or to report, by queue. */
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
