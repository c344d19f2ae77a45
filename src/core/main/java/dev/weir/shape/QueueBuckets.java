package dev.weir.shape;

import dev.weir.event.LimitStatus;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotReport;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The buckets of one queue on this partition. Only this class creates, loads, runs, unloads and forgets them. A bucket
 * with a key is hot, that is, on the heap; or cold, with a state and a timer in the tables.
 *
 * <pre>
 *               use                       use, its timer, or its turn for a slot of the total
 *   none ───────────────▶ hot ◀──────────────────────────────────────────────────────────── cold
 *    ▲                    │ │                                                                ▲
 *    └────────────────────┘ └────────────────────────────────────────────────────────────────┘
 *       idle after a run            unload: too many are hot, and this one is due last
 *
 *   run = adopt the rules in force, work, then: forget it if it is idle, otherwise schedule it
 * </pre>
 *
 * <p>Laws, after each operation:
 *
 * <ul>
 *   <li>Every bucket in which requests wait, or whose past releases matter, is either hot or cold.
 *   <li>A hot one is scheduled for the time of its next work, or contends for a slot.
 *   <li>A cold one has a timer no later than its next work, and its state lists the waiting requests.
 *   <li>The stored state of each is that of its last run.
 * </ul>
 *
 * <p>After a change of rules or a step of the time, buckets that have not been run since are outdated. {@link #catchUp}
 * runs them.
 *
 * <p>The bucket of a queue without key is hot as long as the queue exists. A queue that was deleted, or has got another
 * key, drains and is removed with its last bucket. So the buckets of a queue always have the same key fields.
 */
final class QueueBuckets {

    private static final long NANOS_PER_MS = 1_000_000;

    /** The most entries of a wheel that are read in search of a contending bucket. */
    private static final int MAX_WHEEL_READS = 1_000;

    /** The most contending buckets that are considered for unloading. */
    private static final int MAX_CANDIDATES = 16;

    /** The most buckets that adopt changed rules in the same call. */
    private static final int MAX_UPDATES_AT_ONCE = 500;

    /** As long as so many hot buckets have requests to purge, no cold ones are loaded for it. */
    private static final int MAX_PURGING = 1_000;

    private static final Consumer<LeakyBucketQueue> NO_WORK = bucket -> {};

    /**
     * What the queues of a partition share.
     *
     * @param tables where the requests and timers are
     * @param states where the states of buckets are
     * @param effects receives the effects of the current operation
     * @param hot the buckets on the heap
     * @param messaging how this partition exchanges messages with others
     * @param orders the commands of operators that are in effect
     */
    record Partition(
            Shaper.Tables tables,
            BucketStates states,
            EffectLog effects,
            HotBuckets hot,
            Shaper.Messaging messaging,
            OperatorOrders orders) {}

    private final Partition partition;
    private final BucketStates states;
    private final OperatorOrders orders;
    private final Map<BucketId, LeakyBucketQueue> hot = new LinkedHashMap<>();
    private final ColdBuckets cold;
    private final Set<LeakyBucketQueue> outdated = new LinkedHashSet<>(); // hot ones, by earlier rules or orders
    private final QueueBacklog backlog;
    private final LongestKeys longest = new LongestKeys();
    private final Set<BucketId> purging = new HashSet<>(); // hot ones in which requests wait that are to be purged
    private PacedQueueRules rules;
    private PartitionSlots slots; // null if the queue has no total
    private boolean isDraining;

    /**
     * Creates a queue without buckets.
     *
     * @param backlog an empty one, in which the requests of all its buckets are counted
     */
    QueueBuckets(QueueState state, Partition partition, QueueBacklog backlog) {
        this.partition = partition;
        states = partition.states;
        orders = partition.orders;
        setRules(PacedQueueRules.of(state.rules()));
        cold = new ColdBuckets(state.rules().id(), partition.tables.timers(), state.epoch());
        this.backlog = backlog;
    }

    /** Restores a bucket. */
    void restore(BucketState state) {
        state.schedule().addTo(backlog);
        if (state.contents() != null) {
            state.contents().addTo(backlog);
            longest.update(state.id(), state.contents().size(), state.contents().oldestEnqueuedAtMs());
        }
        if (!state.timers().isEmpty()) {
            cold.restore(state);
            return;
        }
        LeakyBucketQueue bucket = addHot(state);
        if (bucket.isOutdated(rules())) {
            outdated.add(bucket);
        }
    }

    /** Starts work after all buckets are restored. */
    void resume() {
        for (LeakyBucketQueue bucket : hot.values()) {
            bucket.restore(requests -> partition.tables.readWaiting(bucket.id(), requests));
            obeyOrders(bucket);
            recordWaiting(bucket);
            schedule(bucket, 0);
        }
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
            bucket = load(id, nowNanos);
        }
        if (bucket == null && mayCreate) {
            bucket = addHot(LeakyBucketQueue.fresh(id, rules, nowNanos));
            bucket.markChanged();
        }
        if (bucket != null) {
            run(bucket, 0, nowNanos, work);
        }
        return bucket != null;
    }

    /** Releases, unless the queue has a total, and expires what is due in a hot bucket. */
    void work(LeakyBucketQueue due, long nowNanos, WorkBudget budget) {
        // if it remains due, it goes behind those that were due before
        run(due, nowNanos, nowNanos, bucket -> {
            bucket.purge(nowNanos, budget);
            if (slots == null) {
                bucket.drain(nowNanos, budget);
            } else {
                bucket.expire(nowNanos, budget);
            }
        });
    }

    /** @param earliestNanos the earliest time for which the bucket is scheduled afterwards */
    private void run(LeakyBucketQueue bucket, long earliestNanos, long nowNanos, Consumer<LeakyBucketQueue> work) {
        adoptRules(bucket, nowNanos);
        work.accept(bucket);
        recordWaiting(bucket);
        String tierBefore = contendingTier(bucket);
        if (isRemovable(bucket)) {
            forget(bucket);
        } else {
            schedule(bucket, earliestNanos);
            states.markUsed(bucket);
        }
        loadContending(tierBefore, nowNanos);
        loadContending(contendingTier(bucket), nowNanos);
    }

    private void adoptRules(LeakyBucketQueue bucket, long nowNanos) {
        bucket.setRules(rules, nowNanos);
        obeyOrders(bucket);
        if (isDraining) {
            bucket.delete();
        }
    }

    private void obeyOrders(LeakyBucketQueue bucket) {
        bucket.obey(orders.pauses(bucket.id()), orders.purgedBelow(bucket.id()));
    }

    private boolean mustPurge(LeakyBucketQueue bucket) {
        obeyOrders(bucket);
        return bucket.isPurging();
    }

    /** Returns whether a bucket can be removed: a new one would behave the same, except that it counts from 1. */
    private boolean isRemovable(LeakyBucketQueue bucket) {
        return (bucket.id().isKeyed() || isDraining) && bucket.isIdle(bucket.nowNanos());
    }

    private void forget(LeakyBucketQueue bucket) {
        states.delete(bucket);
        removeHot(bucket);
    }

    /** Schedules a hot bucket, and has it contend for a slot if its turn is near. */
    private void schedule(LeakyBucketQueue bucket, long earliestNanos) {
        boolean isPurging = bucket.isPurging();
        if (isPurging) {
            purging.add(bucket.id());
        } else if (!purging.isEmpty()) {
            purging.remove(bucket.id());
        }
        long nanos = dueNanos(bucket, isPurging);
        boolean mayCool = bucket.isSmall() && contendingTier(bucket) == null && !isPurging;
        partition.hot.schedule(bucket, Math.max(nanos, earliestNanos), mayCool);
        countCold();
    }

    private long dueNanos(LeakyBucketQueue bucket, boolean isPurging) {
        if (slots == null) {
            return bucket.dueNanos();
        }
        // while the whole queue is paused, its buckets keep their places for slots, which are not used
        if (!isPurging && !orders.pausesKey(bucket.id())) {
            return slots.update(bucket);
        }
        slots.remove(bucket.id());
        return bucket.dueNanos();
    }

    /** Returns the tier in which a bucket contends for a slot; null if it does not contend. */
    private String contendingTier(LeakyBucketQueue bucket) {
        return slots == null ? null : slots.contendingTier(bucket.id());
    }

    private void recordWaiting(LeakyBucketQueue bucket) {
        if (bucket.id().isKeyed()) {
            longest.update(bucket.id(), bucket.waiting(), bucket.oldestEnqueuedAtMs());
        }
    }

    /**
     * Loads a cold bucket; returns null if there is none. Without exactly-once, a crash can leave a timer of a bucket
     * that is hot.
     */
    private LeakyBucketQueue load(BucketId id, long nowNanos) {
        BucketState state = id.isKeyed() && !hot.containsKey(id) ? states.load(id) : null;
        if (state == null) {
            return null;
        }
        cold.remove(state);
        LeakyBucketQueue bucket = addHot(state);
        bucket.markChanged(); // so that its stored state no longer names the timers
        cold.stepBack(bucket, state);
        adoptRules(bucket, nowNanos);
        schedule(bucket, 0);
        states.markUsed(bucket);
        return bucket;
    }

    /**
     * Loads a cold bucket that may be due. There must be one.
     *
     * @return the bucket, null if none is found before the budget is spent
     */
    LeakyBucketQueue loadDue(long nowNanos, WorkBudget budget) {
        BucketId id = cold.next(budget);
        return id == null ? null : load(id, nowNanos);
    }

    /** Loads contending cold buckets until the hot ones of each tier are those whose turn is first. */
    private void loadContending(long nowNanos) {
        cold.tiers().forEach(tier -> loadContending(tier, nowNanos));
    }

    /** @param tier null for none */
    private void loadContending(String tier, long nowNanos) {
        if (tier == null || slots == null) {
            return;
        }
        WorkBudget budget = new WorkBudget(MAX_WHEEL_READS);
        BucketId id = cold.nextContending(tier, slots.firstNanos(tier), budget);
        while (id != null) {
            load(id, nowNanos);
            id = cold.nextContending(tier, slots.firstNanos(tier), budget);
        }
    }

    /**
     * Unloads a hot bucket, unless it has to stay because, by the rules and orders in force, its state cannot list what
     * waits, or requests are to be purged.
     */
    void unload(LeakyBucketQueue bucket, long nowNanos) {
        if (outdated.remove(bucket) || bucket.isOutdated(rules())) {
            adoptRules(bucket, nowNanos);
            schedule(bucket, 0); // otherwise its timer would be that of the previous rules and orders
            states.markUsed(bucket);
        }
        if (!bucket.isSmall() || bucket.isPurging()) {
            return;
        }
        String tier = contendingTier(bucket);
        List<TimerKey> timers = tier == null
                ? cold.add(bucket.id(), bucket.scheduledNanos(), nowNanos)
                : cold.addContending(bucket.id(), tier, bucket.headTurnNanos(), bucket.nextExpiryNanos(), nowNanos);
        states.unload(bucket, timers);
        countCold(); // before it stops to contend, so that its tier keeps its place
        removeHot(bucket);
    }

    /** Returns a contending bucket that is not needed soon and can be unloaded; null if there is none. */
    LeakyBucketQueue lastContending() {
        if (slots == null) {
            return null;
        }
        int looks = MAX_CANDIDATES;
        for (BucketId id : slots.leastUrgent()) {
            LeakyBucketQueue bucket = hot.get(id);
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
     * If more requests wait than the total permits, evicts one of a lower priority than the request that was admitted
     * last. Looks at a bounded number of buckets: those that contend in the lowest tier, hot or cold; the one that
     * admitted it; and the longest keys.
     */
    void evictBeyondTotal(BucketId admittedTo, int priority, long nowNanos) {
        if (slots == null || !slots.isFull(backlog.requests() - 1)) {
            return;
        }
        LimitStatus limit = LimitStatus.of("total.capacity", rules().total().capacity());
        for (String tier : slots.tiersBelow(priority)) {
            Iterator<BucketId> urgentLast = slots.leastUrgentOf(tier).iterator();
            BucketId id = urgentLast.hasNext()
                    ? urgentLast.next()
                    : cold.nextContending(tier, DueTime.NEVER, new WorkBudget(MAX_WHEEL_READS));
            if (id != null && evict(id, priority, limit, nowNanos)) {
                return;
            }
        }
        List<BucketId> others = new ArrayList<>(longest.ids());
        Collections.sort(others);
        others.add(0, admittedTo);
        others.stream()
                .filter(id -> peek(id) != null && peek(id).holdsBelow(priority))
                .findFirst()
                .ifPresent(id -> evict(id, priority, limit, nowNanos));
    }

    /** Evicts a request of a lower priority from a bucket. Returns whether it had one. */
    private boolean evict(BucketId id, int priority, LimitStatus limit, long nowNanos) {
        long before = backlog.requests();
        use(id, false, nowNanos, bucket -> {
            if (bucket.holdsBelow(priority)) {
                bucket.evict(limit, retryAfterMs(nowNanos), nowNanos);
            }
        });
        return backlog.requests() < before;
    }

    private LeakyBucketQueue addHot(BucketState state) {
        LeakyBucketQueue bucket = newBucket(state, backlog);
        hot.put(bucket.id(), bucket);
        partition.hot.add(bucket);
        return bucket;
    }

    private void removeHot(LeakyBucketQueue bucket) {
        hot.remove(bucket.id());
        outdated.remove(bucket);
        purging.remove(bucket.id());
        partition.hot.remove(bucket);
        if (slots != null) {
            slots.remove(bucket.id());
        }
    }

    private LeakyBucketQueue newBucket(BucketState state, QueueBacklog counts) {
        return new LeakyBucketQueue(state, rules, partition.tables.of(state.id()), counts, partition.effects);
    }

    private void countCold() {
        cold.takeChangedCounts((tier, number) -> {
            if (slots != null) {
                slots.setColdCount(tier, number);
            }
        });
    }

    /**
     * Releases the requests with a slot that is due, and sends a report if one is due. Returns how many steps
     * that took.
     */
    int releaseInSlots(long nowNanos, int most) {
        if (orders.pausesQueue(id())) {
            report(backlog.requests(), nowNanos);
            return 1;
        }
        loadContending(nowNanos); // after a restart, the hot buckets need not be the first ones
        long horizonNanos = nowNanos + rules().lookAheadMs() * NANOS_PER_MS;
        int steps = 1;
        for (BucketId id = slots.next(horizonNanos, nowNanos);
                id != null && steps < most;
                id = slots.next(horizonNanos, nowNanos)) {
            LeakyBucketQueue bucket = hot.get(id);
            long cost = bucket.headCost();
            long turnNanos = bucket.headTurnNanos();
            long atNanos = slots.slotNanos(cost, turnNanos, nowNanos);
            steps++;
            if (bucket.isOutdated(rules()) || mustPurge(bucket)) {
                run(bucket, 0, nowNanos, NO_WORK);
            } else if (atNanos > bucket.headExpiryNanos()) {
                stopContending(bucket, nowNanos);
            } else {
                slots.take(id, cost, turnNanos, nowNanos);
                run(bucket, 0, nowNanos, due -> due.releaseHead(atNanos, nowNanos));
            }
        }
        report(backlog.requests(), nowNanos);
        return steps;
    }

    /** Stops a bucket from contending for a slot, because its first request expires before it could get one. */
    private void stopContending(LeakyBucketQueue bucket, long nowNanos) {
        String tier = contendingTier(bucket);
        slots.remove(bucket.id());
        partition.hot.schedule(bucket, bucket.nextExpiryNanos(), bucket.isSmall());
        loadContending(tier, nowNanos);
    }

    /** Sends a report of the demand for slots, if one is due. */
    private void report(long waiting, long nowNanos) {
        SlotReport report = slots == null ? null : slots.report(waiting, nowNanos);
        if (report != null) {
            partition.effects.add(new QueueEffect.Sent(new QueueMessage.Reported(report)));
        }
    }

    /** Reports to the ledger of the total, if there is one, that nothing waits any more. */
    void reportLast(long nowNanos) {
        report(0, nowNanos);
    }

    /** Adds slots that were granted to this partition. */
    void receive(SlotGrant grant, long nowNanos) {
        if (slots != null) {
            slots.receive(grant, nowNanos);
        }
    }

    /** Returns when there is a slot to use or a report to send; {@link DueTime#NEVER} without a total. */
    long slotsDueNanos(long nowNanos) {
        if (slots == null) {
            return DueTime.NEVER;
        }
        long slotNanos = orders.pausesQueue(id()) ? DueTime.NEVER : slots.nextNanos(nowNanos);
        long dueNanos = slotNanos == DueTime.NEVER ? slotNanos : slotNanos - rules().lookAheadMs() * NANOS_PER_MS;
        return Math.max(nowNanos, slots.dueNanos(backlog.requests(), dueNanos));
    }

    /** Returns a time before which no cold bucket is due; {@link DueTime#NEVER} if there are none. */
    long coldDueNanos() {
        return cold.dueNanos();
    }

    /**
     * Puts rules in force, or makes the queue drain if its buckets {@linkplain #canAdopt cannot adopt} them. Some
     * buckets adopt them now, the others with {@link #catchUp} or when they are used.
     *
     * @param current null if the queue was deleted
     */
    void adopt(QueueRules current, long nowNanos) {
        isDraining = !canAdopt(current);
        if (!isDraining && current != rules()) {
            change(current, nowNanos);
        }
        LeakyBucketQueue only = only();
        if (isDraining && only != null) {
            run(only, 0, nowNanos, NO_WORK); // for when it can be removed
        }
    }

    private void change(QueueRules current, long nowNanos) {
        QueueRules before = rules();
        if (current.equals(before)) {
            rules = new PacedQueueRules(current, rules.pacing(), rules.total());
            return;
        }
        setRules(PacedQueueRules.of(current));
        if (!current.hasSamePaceAs(before)) {
            outdated.addAll(hot.values());
            cold.startNewEpoch();
        }
        saveQueue();
        catchUp(nowNanos, new WorkBudget(MAX_UPDATES_AT_ONCE));
    }

    /** Puts a command in effect that was added to the orders. Some buckets obey now, others when they are used. */
    void obey(QueueCommand command, long nowNanos) {
        boolean isResume = command.action() == QueueCommand.Action.RESUME;
        if (command.target().isKeyed()) {
            use(command.target(), false, nowNanos, isResume ? bucket -> bucket.resume(nowNanos) : NO_WORK);
            return;
        }
        if (isResume && slots != null) {
            slots.resume(nowNanos);
        }
        outdated.addAll(hot.values());
        boolean changesDueTimes =
                switch (command.action()) {
                    case RESUME, PURGE -> true;
                    case PAUSE, DRAIN -> false;
                };
        if (changesDueTimes && cold.size() > 0) {
            cold.startNewEpoch();
            saveQueue();
        }
        catchUp(nowNanos, new WorkBudget(MAX_UPDATES_AT_ONCE));
    }

    /** Ends the purges that are done. */
    void endPurges() {
        for (BucketId target : orders.purges(id())) {
            boolean isDone = target.isKeyed() ? !purging.contains(target) : !hasOutdated() && purging.isEmpty();
            if (isDone) {
                orders.endPurge(target);
            }
        }
    }

    private void setRules(PacedQueueRules newRules) {
        rules = newRules;
        if (rules().total() == null) {
            slots = null;
        } else if (slots == null) {
            slots = new PartitionSlots(rules(), partition.messaging.partition(), partition.messaging.expectedDelayMs());
        } else {
            slots.setRules(rules());
        }
    }

    /** Stores the state of the queue, apart from its buckets. */
    void saveQueue() {
        partition.effects.add(new QueueEffect.QueueStored(id(), new QueueState(rules(), cold.epoch())));
    }

    /** Returns whether some buckets have not adopted the current rules and orders, or a step of the time. */
    boolean hasOutdated() {
        return !outdated.isEmpty() || cold.hasStale();
    }

    /** Makes buckets adopt changed rules and orders, or a step of the time: hot ones first, then those due first. */
    void catchUp(long nowNanos, WorkBudget budget) {
        while (!outdated.isEmpty() && budget.trySpend()) {
            LeakyBucketQueue bucket = outdated.iterator().next();
            outdated.remove(bucket);
            run(bucket, 0, nowNanos, each -> each.purge(nowNanos, budget));
        }
        while (cold.hasStale() && purging.size() < MAX_PURGING) {
            BucketId id = cold.nextStale(budget);
            if (id == null) {
                return;
            }
            use(id, false, nowNanos, each -> each.purge(nowNanos, budget));
        }
    }

    /** Sets the time of all buckets back: of the hot ones now, of the cold ones when they are next loaded. */
    void stepBack(long nowNanos) {
        if (slots != null) {
            slots.stepBack();
        }
        if (cold.stepBack(nowNanos)) {
            saveQueue();
        }
        List<LeakyBucketQueue> hotOnes = List.copyOf(hot.values());
        hotOnes.forEach(bucket -> bucket.stepBack(nowNanos));
        hotOnes.forEach(bucket -> run(bucket, 0, nowNanos, NO_WORK));
    }

    /** Returns whether these rules, the same object, are in force and the queue does not drain. */
    boolean isInForce(QueueRules current) {
        return current == rules() && !isDraining;
    }

    /** Returns the rules in force, or the last ones. */
    QueueRules rules() {
        return rules.rules();
    }

    String id() {
        return rules().id();
    }

    /**
     * Returns whether the buckets can adopt these rules. Otherwise, the queue drains by its last rules, and is then
     * removed. With another key, all buckets together would have as many times the new rate and burst as there are
     * buckets, and later requests would not find those that wait.
     *
     * @param current the rules in force, null if the queue was deleted
     */
    boolean canAdopt(QueueRules current) {
        return current != null && (current == rules() || current.hasSameKeyAs(rules()));
    }

    /** Returns whether the queue was to drain and all of its buckets were removed. */
    boolean isDrained() {
        return isDraining && size() == 0;
    }

    /** Returns whether nothing waits and past releases no longer matter, so that a new queue would behave the same. */
    boolean isUnused(long nowNanos) {
        LeakyBucketQueue only = only();
        return size() == 0 || only != null && only.isIdle(nowNanos);
    }

    /** Returns the bucket of a queue without key; null if it is not in use, and for a queue with a key. */
    private LeakyBucketQueue only() {
        return rules().isKeyed() || hot.isEmpty()
                ? null
                : hot.values().iterator().next();
    }

    /**
     * Returns whether as many requests wait, here and elsewhere, as the total permits, and none of those here has a
     * lower priority than this one.
     */
    boolean isFull(int priority) {
        return slots != null
                && slots.isFull(backlog.requests())
                && slots.isFull(backlog.requestsFrom(priority, rules()));
    }

    /** Returns how long until the next release in a slot makes room, as far as it is known. */
    long retryAfterMs(long nowNanos) {
        long nextNanos = slots.nextReleaseNanos(nowNanos) - rules().lookAheadMs() * NANOS_PER_MS;
        return Math.max(1, Math.floorDiv(nextNanos, NANOS_PER_MS) + 1 - nowNanos / NANOS_PER_MS);
    }

    /** Returns the number of keys in use; 1 for a queue without key. */
    long size() {
        return hot.size() + cold.size();
    }

    long hotSize() {
        return hot.size();
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
        LeakyBucketQueue bucket = hot.get(id);
        BucketState state = bucket != null || !id.isKeyed() ? null : states.load(id);
        if (state == null) {
            return bucket;
        }
        LeakyBucketQueue read = newBucket(state, QueueBacklog.unobserved());
        cold.stepBack(read, state);
        obeyOrders(read);
        return read;
    }
}
