package dev.weir.shape;

import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.total.SlotMessenger;
import dev.weir.shape.total.Timers;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * All buckets of a partition: at most so many of those with a key are hot, as objects on the heap; the others are cold, as a state and a
 * timer in the stores. If there are too many hot ones, those due last are put away. A cold one is read when its timer is due, and when
 * something else is to be done with it.
 *
 * <pre>
 *              fresh, or its timer is due
 *   none, cold ──────────────────────────▶ hot ──▶ idle: deleted
 *        ▲                                  │
 *        └──────────────────────────────────┘ too many are hot, and this is due last
 * </pre>
 *
 * <p>Of the buckets that contend for a slot of their queue's total, those of the lowest tier whose turn comes last are put away if there is no
 * other, and read again before their turn. A bucket of more flows than its state lists stays hot.
 */
final class Buckets {

    private static final long NANOS_PER_MS = 1_000_000;

    /** How many buckets are put away at most when one is added. */
    private static final int MOST_PUT_AWAY = 2;

    /** How many entries of a wheel are looked at when a bucket is searched that contends. */
    private static final int MOST_READ = 1_000;

    /** How many buckets that contend are looked at when one is to be put away. */
    private static final int MOST_LOOKS = 16;

    /** How many buckets take over changed rules in the same call. */
    private static final int BEHIND_AT_ONCE = 500;

    private final Shaper.Stores stores;
    private final Outlet outlet;
    private final SlotMessenger messenger;
    private final int hotKeys;
    private final Map<String, QueueBuckets> queues = new TreeMap<>();
    private final HotTimers timers = new HotTimers();
    private final Timers<String> slotTimers = new Timers<>(); // of queues with a total
    private final TreeSet<QueueBuckets> byColdDue =
            new TreeSet<>(Comparator.comparingLong(QueueBuckets::coldDueNanos).thenComparing(QueueBuckets::id));
    private final Set<QueueBuckets> behind = new LinkedHashSet<>();
    private long behindSinceNanos;
    private long hot;
    private long waiting;
    private long writtenNanos;

    Buckets(Shaper.Stores stores, Outlet outlet, SlotMessenger messenger, int hotKeys) {
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
        writtenNanos = Math.max(writtenNanos, state.outflow().clockNanos());
        if (state.contents() != null) {
            state.contents().addTo(queue.backlog);
            queue.longest.update(
                    state.id(), state.contents().size(), state.contents().oldestEnqueuedAtMs());
        }
        if (state.timers().isEmpty()) {
            LeakyBucketQueue bucket = heat(queue, state);
            if (bucket.isBehind(queue.rules())) {
                queue.behind.add(bucket);
            }
        } else {
            queue.restoreCold(state);
        }
    }

    /** Continues once all is restored. */
    void resume() {
        behindSinceNanos = writtenNanos;
        for (QueueBuckets queue : queues.values()) {
            for (LeakyBucketQueue bucket : queue.hot.values()) {
                bucket.resume();
                queue.rank(bucket);
                plan(queue, bucket, 0);
            }
            queue.countCold();
            if (queue.slots() != null) {
                planSlots(queue, writtenNanos);
            }
            noteCold(queue);
        }
    }

    /** When the latest of the restored states was written, ns since the epoch; 0 if there are none. */
    long writtenNanos() {
        return writtenNanos;
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
    long hot() {
        return hot;
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
            bucket = heat(queue, state);
            bucket.markChanged(); // its state must not name the timers any more
            queue.stepBack(bucket, state);
            noteCold(queue);
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
        LeakyBucketQueue read = make(state, queue.paced(), new QueueBacklog(more -> {}));
        queue.stepBack(read, state);
        return read;
    }

    /** A bucket that nothing was sent to yet, to look at. */
    LeakyBucketQueue fresh(BucketId id, QueueRules rules, long nowNanos) {
        PacedQueueRules paced = PacedQueueRules.of(rules);
        return make(LeakyBucketQueue.fresh(id, paced, nowNanos), paced, new QueueBacklog(more -> {}));
    }

    /** Adds a bucket that there is not. */
    LeakyBucketQueue create(BucketId id, QueueRules rules, long nowNanos) {
        QueueBuckets queue = queues.get(id.queue());
        if (queue == null) {
            queue = add(new QueueState(rules, 0));
            stores.save(queue.state());
        }
        LeakyBucketQueue bucket = heat(queue, LeakyBucketQueue.fresh(id, queue.paced(), nowNanos));
        bucket.markChanged();
        return bucket;
    }

    /**
     * Plans when a bucket is due after something was done with it, and saves it if it changed; or deletes it if it is idle.
     *
     * @param earliestNanos it is planned no earlier: a bucket that is due still goes behind those that are due before then
     */
    void settle(LeakyBucketQueue bucket, long earliestNanos, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        queue.rank(bucket);
        String before = queue.slots() == null ? null : queue.slots().contendsIn(bucket.id());
        if (bucket.id().isKeyed() && bucket.isIdle()) {
            stores.delete(bucket.id());
            cool(bucket);
            if (queue.slots() != null) {
                queue.slots().forget(bucket.id());
            }
        } else {
            plan(queue, bucket, earliestNanos);
        }
        readContending(queue, before, nowNanos);
        if (queue.slots() != null) {
            readContending(queue, queue.slots().contendsIn(bucket.id()), nowNanos);
            planSlots(queue, bucket.nowNanos());
        }
        putAway(queue, nowNanos);
        if (queue.hot.get(bucket.id()) == bucket) {
            save(bucket);
        }
    }

    /** Lets a bucket contend for no slot: what leaves it next expires before it could have one. */
    void forgetSlot(LeakyBucketQueue bucket, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        String tier = queue.slots().contendsIn(bucket.id());
        queue.slots().forget(bucket.id());
        timers.plan(bucket, bucket.nextExpiryNanos(), bucket.isSmall());
        readContending(queue, tier, nowNanos);
        putAway(queue, nowNanos);
    }

    /** Reads cold buckets that contend until in each tier the hot ones are those whose turn comes first. */
    void readContending(QueueBuckets queue, long nowNanos) {
        queue.coldTiers().forEach(tier -> readContending(queue, tier, nowNanos));
    }

    /** Reads cold buckets that contend in a tier until the hot ones are those whose turn comes first. */
    private void readContending(QueueBuckets queue, String tier, long nowNanos) {
        if (tier == null) {
            return;
        }
        WorkBudget budget = new WorkBudget(MOST_READ);
        for (BucketId id = queue.nextContending(tier, budget); id != null; id = queue.nextContending(tier, budget)) {
            LeakyBucketQueue bucket = get(id, nowNanos);
            if (bucket != null) {
                plan(queue, bucket, 0);
                save(bucket);
            }
        }
    }

    private void putAway(QueueBuckets settled, long nowNanos) {
        for (int i = 0; i < MOST_PUT_AWAY && hot > hotKeys; i++) {
            LeakyBucketQueue bucket = timers.lastCoolable();
            bucket = bucket == null ? lastContending(settled) : bucket;
            if (bucket == null) {
                return;
            }
            putAway(bucket, nowNanos);
        }
    }

    /** Of the buckets of a queue that contend for a slot, one that is not needed soon and can be put away; null if there is none. */
    private static LeakyBucketQueue lastContending(QueueBuckets queue) {
        if (queue.slots() == null) {
            return null;
        }
        int looks = MOST_LOOKS;
        for (BucketId id : queue.slots().last()) {
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
        if (bucket.takeChanged()) {
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
            noteBehind(queue, nowNanos);
            catchUp(queue, nowNanos, new WorkBudget(BEHIND_AT_ONCE));
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
                noteBehind(queue, nowNanos);
            }
            List<LeakyBucketQueue> hotOnes = List.copyOf(queue.hot.values());
            hotOnes.forEach(bucket -> bucket.stepBack(nowNanos));
            for (LeakyBucketQueue bucket : hotOnes) {
                if (queue.hot.get(bucket.id()) == bucket) { // not put away meanwhile
                    settle(bucket, 0, nowNanos);
                }
            }
        }
    }

    /** Lets buckets take over rules, or the time, that were changed: the hot ones first, then those that are due first. */
    void catchUp(long nowNanos, WorkBudget budget) {
        for (QueueBuckets queue : List.copyOf(behind)) {
            catchUp(queue, nowNanos, budget);
        }
    }

    private void catchUp(QueueBuckets queue, long nowNanos, WorkBudget budget) {
        while (!queue.behind.isEmpty() && budget.spend()) {
            LeakyBucketQueue bucket = queue.behind.remove();
            if (queue.hot.get(bucket.id()) == bucket) {
                queue.update(bucket, nowNanos);
                settle(bucket, 0, nowNanos);
            }
        }
        while (queue.hasStale()) {
            BucketId id = queue.nextStale(budget);
            if (id == null) {
                break;
            }
            LeakyBucketQueue bucket = get(id, nowNanos);
            if (bucket != null) {
                settle(bucket, 0, nowNanos);
            }
        }
        noteCold(queue);
    }

    /** When the next bucket is due or is to be read; {@link Long#MAX_VALUE} if none is. */
    long dueNanos() {
        long dueNanos = Math.min(slotTimers.firstNanos(), Math.min(timers.dueNanos(), coldDueNanos()));
        return behind.isEmpty() ? dueNanos : Math.min(dueNanos, behindSinceNanos);
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
    boolean readDue(long nowNanos, WorkBudget budget) {
        if (coldDueNanos() > nowNanos) {
            return false;
        }
        QueueBuckets queue = byColdDue.first();
        BucketId id = queue.cold.next(budget);
        LeakyBucketQueue bucket = id == null ? null : get(id, nowNanos);
        if (bucket != null) {
            plan(queue, bucket, 0);
            if (queue.slots() != null) {
                planSlots(queue, nowNanos);
            }
            if (bucket.plannedNanos()
                    > nowNanos) { // else there is work to do first, even if all hot ones are due before it
                putAway(queue, nowNanos);
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

    private LeakyBucketQueue make(BucketState state, PacedQueueRules rules, QueueBacklog backlog) {
        return new LeakyBucketQueue(state, rules, stores.of(state.id()), backlog, outlet);
    }

    private LeakyBucketQueue heat(QueueBuckets queue, BucketState state) {
        LeakyBucketQueue bucket = make(state, queue.paced(), queue.backlog);
        queue.hot.put(state.id(), bucket);
        hot += state.id().isKeyed() ? 1 : 0;
        return bucket;
    }

    private void cool(LeakyBucketQueue bucket) {
        timers.cancel(bucket);
        queues.get(bucket.id().queue()).hot.remove(bucket.id());
        hot -= bucket.id().isKeyed() ? 1 : 0;
    }

    private void putAway(LeakyBucketQueue bucket, long nowNanos) {
        QueueBuckets queue = queues.get(bucket.id().queue());
        if (bucket.isBehind(queue.rules())) {
            queue.update(bucket, nowNanos);
            plan(queue, bucket, 0); // or it would be read again when it was due by the rules of before
        }
        bucket.takeChanged();
        stores.save(bucket.state().with(queue.addCold(bucket, nowNanos)));
        cool(bucket);
        noteCold(queue);
    }

    private void plan(QueueBuckets queue, LeakyBucketQueue bucket, long earliestNanos) {
        boolean mayCool = bucket.isSmall();
        long nanos = bucket.dueNanos();
        if (queue.slots() != null) {
            nanos = queue.slots().update(bucket);
            mayCool = mayCool && queue.slots().contendsIn(bucket.id()) == null;
        }
        queue.countCold();
        if (nanos < Long.MAX_VALUE) {
            timers.plan(bucket, Math.max(nanos, earliestNanos), mayCool);
        } else {
            timers.cancel(bucket);
        }
    }

    /** Plans when a queue with a total has something to release or to report. */
    void planSlots(QueueBuckets queue, long nowNanos) {
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
    Timers<String> slotTimers() {
        return slotTimers;
    }

    private void noteBehind(QueueBuckets queue, long nowNanos) {
        behindSinceNanos = behind.isEmpty() ? nowNanos : behindSinceNanos;
        noteCold(queue);
    }

    private void noteCold(QueueBuckets queue) {
        if (queue.coldDueNanos() != queue.cold.dueNanos()) {
            byColdDue.remove(queue);
            queue.noteColdDue();
            if (queue.coldDueNanos() < Long.MAX_VALUE) {
                byColdDue.add(queue);
            }
        }
        if (queue.hasBehind()) {
            behind.add(queue);
        } else {
            behind.remove(queue);
        }
    }
}
