package dev.weir.shape;

import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.shape.view.LongestKeys;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The life of the buckets of one queue on this partition. Only this class creates, loads, runs, saves, unloads and
 * forgets them. (Queries read others, which are never saved.) A bucket with a key is hot, that is, on the heap; or cold,
 * with a state and a timer in the tables.
 *
 * <pre>
 *               use                       use, its timer, or its turn under the total
 *   none ───────────────▶ hot ◀──────────────────────────────────────────────────────────── cold
 *    ▲                    │ │                                                                ▲
 *    └────────────────────┘ └────────────────────────────────────────────────────────────────┘
 *       idle after a run            unload: too many are hot, and this one is due last
 *
 *   run = adopt the rules in force, work, then: forget it if it is idle, otherwise plan its next work and save it
 * </pre>
 *
 * <p>Laws, after each operation:
 *
 * <ul>
 *   <li>Every bucket in which requests wait, or whose past releases matter, is either hot or cold.
 *   <li>A hot one has a timer at its next work, or contends under the total.
 *   <li>A cold one has a timer no later than its next work, and its state lists the waiting requests.
 *   <li>The stored state of each is that of its last run.
 * </ul>
 *
 * <p>A change that may move the due times of buckets makes them stale: until they have run, these laws need not hold for
 * them. {@link #catchUp} runs them. Any other change of rules is adopted by each bucket when it next runs.
 *
 * <p>The bucket of a queue without key is hot as long as the queue exists.
 */
final class QueueBuckets {

    /** The most entries of a wheel that are read in search of a contending bucket. */
    private static final int MAX_WHEEL_READS = 1_000;

    /** As long as so many hot buckets have requests to purge, no cold ones are loaded for it. */
    private static final int MAX_PURGING = 1_000;

    private static final Consumer<LeakyBucketQueue> NO_WORK = bucket -> {};

    private final PartitionContext context;
    private final BucketStates states;
    private final OperatorOrders orders;
    private final QueueBacklog backlog;
    private final HotBuckets hot;
    private final ColdBuckets cold;
    private final LongestKeys longest = new LongestKeys();
    private List<BucketState> restored = new ArrayList<>(); // of buckets that were hot; empty after the start
    private QueueTerms terms;

    /**
     * Creates a queue without buckets.
     *
     * @param epoch see {@link QueueState#epoch}
     * @param backlog an empty one, in which the requests of all its buckets are counted
     */
    QueueBuckets(QueueTerms terms, long epoch, PartitionContext context, QueueBacklog backlog) {
        this.terms = terms;
        this.context = context;
        this.backlog = backlog;
        states = context.states();
        orders = context.orders();
        hot = new HotBuckets(context.hotTimers());
        cold = new ColdBuckets(terms.rules().id(), context.tables().timers(), epoch, this::loadState);
    }

    /** Returns the stored state of a bucket that is not hot; null if there is none. */
    private BucketState loadState(BucketId id) {
        return id.isKeyed() && hot.get(id) == null ? states.load(id) : null;
    }

    /** Restores a bucket. */
    void restore(BucketState state) {
        state.schedule().addTo(backlog);
        if (state.contents() != null) {
            state.contents().addTo(backlog);
            longest.update(state.id(), state.contents().size(), state.contents().oldestEnqueuedAtMs());
        }
        if (state.timers().isEmpty()) {
            restored.add(state);
        } else {
            cold.restore(state);
        }
    }

    /** Starts work after all buckets are restored. */
    void resume() {
        for (BucketState state : restored) {
            LeakyBucketQueue bucket = addHot(context.restored(state, terms.paced(), backlog));
            if (!bucket.hasAdopted(terms.rules())) {
                hot.makeStale(bucket);
            }
            obeyOrders(bucket);
            recordWaiting(bucket);
            plan(bucket);
        }
        restored = List.of();
        countCold();
    }

    /**
     * Runs work on a bucket.
     *
     * @param mayCreate whether it is created if it does not exist
     * @return whether there is such a bucket
     */
    boolean use(BucketId id, boolean mayCreate, long nowNanos, Consumer<LeakyBucketQueue> work) {
        LeakyBucketQueue bucket = hot.get(id);
        if (bucket == null) {
            bucket = load(cold.take(id), nowNanos);
        }
        if (bucket == null && mayCreate) {
            bucket = addHot(context.fresh(id, terms.paced(), backlog, nowNanos));
            bucket.markChanged();
        }
        if (bucket != null) {
            run(bucket, nowNanos, work);
        }
        return bucket != null;
    }

    /**
     * Does what is due in a hot bucket. Without a total, this is where it releases, by its own pace. With a total, it
     * releases nothing: which bucket is next depends on the others too, so {@link TotalReleases} chooses it.
     */
    void work(LeakyBucketQueue due, long nowNanos, WorkBudget budget) {
        // if it remains due, it goes behind those that were due before
        run(due, nowNanos, nowNanos, bucket -> {
            bucket.purge(nowNanos, budget);
            if (terms.rules().total() == null) {
                bucket.drain(nowNanos, budget);
            } else {
                bucket.expire(nowNanos, budget);
            }
        });
    }

    /** Has a hot bucket adopt the rules and orders in force, so that it is removed or its next work planned by them. */
    void update(LeakyBucketQueue bucket, long nowNanos) {
        run(bucket, nowNanos, NO_WORK);
    }

    /** Runs work on a hot bucket. */
    void run(LeakyBucketQueue bucket, long nowNanos, Consumer<LeakyBucketQueue> work) {
        run(bucket, 0, nowNanos, work);
    }

    /** @param earliestNanos the earliest time of the next work, apart from releases under a total */
    private void run(LeakyBucketQueue bucket, long earliestNanos, long nowNanos, Consumer<LeakyBucketQueue> work) {
        adoptRules(bucket, nowNanos);
        work.accept(bucket);
        recordWaiting(bucket);
        states.markUsed(bucket);
        boolean mayContend = mayContend(bucket);
        settle(bucket, mayContend, Math.max(dueNanos(bucket, mayContend), earliestNanos), nowNanos);
    }

    /**
     * Plans the next work of a hot bucket that has changed, or removes it if it is idle. Afterwards, the hot buckets that contend in its
     * tiers are again those whose turn is first.
     */
    private void settle(LeakyBucketQueue bucket, boolean mayContend, long dueNanos, long nowNanos) {
        String tierBefore = tier(bucket);
        if (isRemovable(bucket)) {
            states.delete(bucket);
            removeHot(bucket);
        } else {
            plan(bucket, mayContend, dueNanos);
        }
        loadContending(tierBefore, nowNanos);
        loadContending(tier(bucket), nowNanos);
    }

    private void adoptRules(LeakyBucketQueue bucket, long nowNanos) {
        bucket.setRules(terms.paced(), nowNanos);
        obeyOrders(bucket);
        if (terms.isDraining()) {
            bucket.delete();
        }
    }

    private void obeyOrders(LeakyBucketQueue bucket) {
        bucket.obey(orders.pauses(bucket.id()), orders.purgedBelow(bucket.id()));
    }

    /** Returns whether a hot bucket can release: it has adopted the rules in force, and nothing in it is to be purged. */
    boolean mayRelease(LeakyBucketQueue bucket) {
        if (!bucket.hasAdopted(terms.rules())) {
            return false;
        }
        obeyOrders(bucket);
        return !bucket.isPurging();
    }

    /** Returns whether a bucket can be removed: a new one would behave the same, except that it counts from 1. */
    private boolean isRemovable(LeakyBucketQueue bucket) {
        return (bucket.id().isKeyed() || terms.isDraining()) && bucket.isIdle(bucket.nowNanos());
    }

    private void plan(LeakyBucketQueue bucket) {
        boolean mayContend = mayContend(bucket);
        plan(bucket, mayContend, dueNanos(bucket, mayContend));
    }

    /** Sets the timer of a hot bucket, and has it contend if it may and its turn is near. */
    private void plan(LeakyBucketQueue bucket, boolean mayContend, long dueNanos) {
        if (mayContend) {
            terms.contention().contend(bucket);
        } else {
            terms.contention().remove(bucket.id());
        }
        boolean isPurging = bucket.isPurging();
        boolean mayCool = bucket.isSmall() && tier(bucket) == null && !isPurging;
        hot.setTimer(bucket, dueNanos, isPurging, mayCool);
    }

    private long dueNanos(LeakyBucketQueue bucket, boolean mayContend) {
        return mayContend ? terms.contention().dueNanos(bucket) : bucket.dueNanos();
    }

    private boolean mayContend(LeakyBucketQueue bucket) {
        // while the whole queue is paused, its buckets keep their places under the total, which are not used
        return !bucket.isPurging() && !orders.pausesKey(bucket.id());
    }

    private String tier(LeakyBucketQueue bucket) {
        return terms.contention().tier(bucket.id());
    }

    /** Has a hot bucket stop to contend, because its first request expires before it could be released. */
    void stopContending(LeakyBucketQueue bucket, long nowNanos) {
        settle(bucket, false, bucket.nextChangeNanos(), nowNanos);
    }

    private void recordWaiting(LeakyBucketQueue bucket) {
        if (bucket.id().isKeyed()) {
            longest.update(bucket.id(), bucket.waiting(), bucket.oldestEnqueuedAtMs());
        }
    }

    /**
     * Makes a bucket hot.
     *
     * @param state of one that was cold, null for none; then returns null
     */
    private LeakyBucketQueue load(BucketState state, long nowNanos) {
        if (state == null) {
            return null;
        }
        LeakyBucketQueue bucket = addHot(context.restored(state, terms.paced(), backlog));
        bucket.markChanged(); // so that its stored state no longer names the timers
        cold.stepBack(bucket, state);
        adoptRules(bucket, nowNanos);
        plan(bucket);
        countCold(); // after it contends as a hot one, so that its tier keeps its place
        states.markUsed(bucket);
        return bucket;
    }

    /** Loads a cold bucket that may be due; returns null if none is found before the budget is spent. */
    LeakyBucketQueue loadDue(long nowNanos, WorkBudget budget) {
        return load(cold.takeDue(budget), nowNanos);
    }

    /** Loads a cold bucket that contends in a tier; returns null if none is found. */
    LeakyBucketQueue loadAnyContending(String tier, long nowNanos) {
        return load(cold.takeContending(tier, DueTime.NEVER, new WorkBudget(MAX_WHEEL_READS)), nowNanos);
    }

    /** Loads contending cold buckets until the hot ones of each tier are those whose turn is first. */
    void loadContending(long nowNanos) {
        cold.tiers().forEach(tier -> loadContending(tier, nowNanos));
    }

    /** @param tier null for none */
    private void loadContending(String tier, long nowNanos) {
        if (tier == null) {
            return;
        }
        WorkBudget budget = new WorkBudget(MAX_WHEEL_READS);
        BucketState next = cold.takeContending(tier, terms.contention().firstNanos(tier), budget);
        while (next != null) {
            load(next, nowNanos);
            next = cold.takeContending(tier, terms.contention().firstNanos(tier), budget);
        }
    }

    /**
     * Unloads a hot bucket, unless it has to stay because, by the rules and orders in force, its state cannot list what
     * waits, or requests are to be purged.
     */
    void unload(LeakyBucketQueue bucket, long nowNanos) {
        if (hot.takeStale(bucket) || !bucket.hasAdopted(terms.rules())) {
            adoptRules(bucket, nowNanos);
            plan(bucket); // otherwise its timer would be that of the previous rules and orders
            states.markUsed(bucket);
        }
        if (!bucket.isSmall() || bucket.isPurging()) {
            return;
        }
        String tier = tier(bucket);
        List<TimerKey> timers = tier == null
                ? cold.add(bucket.id(), bucket.timerNanos(), nowNanos)
                : cold.addContending(bucket.id(), tier, bucket.headTurnNanos(), bucket.nextChangeNanos(), nowNanos);
        states.unload(bucket, timers);
        countCold(); // before it stops to contend, so that its tier keeps its place
        removeHot(bucket);
    }

    private LeakyBucketQueue addHot(LeakyBucketQueue bucket) {
        hot.add(bucket);
        return bucket;
    }

    private void removeHot(LeakyBucketQueue bucket) {
        hot.remove(bucket);
        terms.contention().remove(bucket.id());
    }

    private void countCold() {
        cold.takeChangedCounts(terms.contention());
    }

    QueueTerms terms() {
        return terms;
    }

    /** Sets what the buckets follow, each when it next runs. */
    void setTerms(QueueTerms newTerms) {
        terms = newTerms;
    }

    /** Makes all hot buckets stale. */
    void makeHotStale() {
        hot.makeStale();
    }

    /** Makes all cold buckets stale, in a new epoch. */
    void makeColdStale() {
        cold.startNewEpoch();
    }

    boolean hasStale() {
        return hot.hasStale() || cold.hasStale();
    }

    /** Runs stale buckets: hot ones first, then those due first. */
    void catchUp(long nowNanos, WorkBudget budget) {
        while (hot.hasStale() && budget.trySpend()) {
            run(hot.takeStale(), nowNanos, each -> each.purge(nowNanos, budget));
        }
        while (cold.hasStale() && hot.purging() < MAX_PURGING) {
            LeakyBucketQueue bucket = load(cold.takeStale(budget), nowNanos);
            if (bucket == null) {
                return;
            }
            run(bucket, nowNanos, each -> each.purge(nowNanos, budget));
        }
    }

    /** Returns whether what was to be purged of the queue, or of one of its keys, has been purged. */
    boolean hasPurged(BucketId target) {
        return target.isKeyed() ? !hot.isPurging(target) : !hasStale() && hot.purging() == 0;
    }

    /** Sets the time of the cold buckets back, for when they are next loaded. Returns whether there are any. */
    boolean stepBackCold(long nowNanos) {
        return cold.stepBack(nowNanos);
    }

    /** Sets the time of the hot buckets back. */
    void stepBackHot(long nowNanos) {
        List<LeakyBucketQueue> all = hot.all();
        all.forEach(bucket -> bucket.stepBack(nowNanos));
        all.forEach(bucket -> update(bucket, nowNanos));
    }

    /** Returns a time before which no cold bucket is due; {@link DueTime#NEVER} if there are none. */
    long coldDueNanos() {
        return cold.dueNanos();
    }

    /** Returns the epoch of the due times; see {@link QueueState#epoch}. */
    long epoch() {
        return cold.epoch();
    }

    /** Returns the number of keys in use; 1 for a queue without key. */
    long size() {
        return hot.size() + cold.size();
    }

    long hotSize() {
        return hot.size();
    }

    boolean hasCold() {
        return cold.size() > 0;
    }

    /** Returns a bucket that is hot; null if it is not. */
    LeakyBucketQueue hot(BucketId id) {
        return hot.get(id);
    }

    /** Returns the bucket of a queue without key; null if it is not in use, and for a queue with a key. */
    LeakyBucketQueue only() {
        return terms.rules().isKeyed() || hot.size() == 0 ? null : hot.first();
    }

    /** Returns what waits in all buckets; it changes with them. */
    QueueBacklog backlog() {
        return backlog;
    }

    /** Returns the buckets with the most waiting requests and those with the longest wait. */
    List<BucketId> longest() {
        return longest.ids();
    }

    /** Returns a bucket for queries; null if there is none. Changes nothing. */
    LeakyBucketQueue peek(BucketId id) {
        BucketState state = loadState(id);
        if (state == null) {
            return hot.get(id);
        }
        LeakyBucketQueue read = context.restored(state, terms.paced(), QueueBacklog.unobserved());
        cold.stepBack(read, state);
        obeyOrders(read);
        return read;
    }
}
