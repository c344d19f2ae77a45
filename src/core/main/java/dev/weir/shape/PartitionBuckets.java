package dev.weir.shape;

import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.timer.TimerQueue;
import dev.weir.shape.total.SlotGrant;
import dev.weir.time.DueTime;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The queues of a partition: which of them has something to do next, and which bucket leaves the heap if too many are
 * hot. That is the one due last or, if there is none, one that contends for a slot of its queue's total: in the lowest
 * tier, one whose turn is last. It is loaded again before its turn. A bucket with more flows than its state can list
 * stays hot.
 */
final class PartitionBuckets {

    /** The most steps that one bucket takes before others get their turn. */
    private static final int STEPS_PER_TURN = 500;

    /** The most buckets that are unloaded at once. Those that are still too many leave after the next operation. */
    private static final int MAX_UNLOADS = 2_000;

    private final QueueBuckets.Partition shared;
    private final HotBuckets hot;
    private final int hotKeys;
    private final Map<String, QueueBuckets> queues = new TreeMap<>();
    private final TimerQueue<String> slotTimers = new TimerQueue<>(); // of queues with a total
    private final TimerQueue<String> coldTimers = new TimerQueue<>(); // of queues with cold buckets
    private final Set<QueueBuckets> outdated = new LinkedHashSet<>();
    private long outdatedSinceNanos;
    private long waiting;
    private long inFlight;
    private long lastWriteNanos;

    PartitionBuckets(QueueBuckets.Partition shared, int hotKeys) {
        this.shared = shared;
        this.hot = shared.hot();
        this.hotKeys = hotKeys;
    }

    void restore(QueueState state) {
        add(state);
    }

    /** Restores a bucket of a restored queue. */
    void restore(BucketState state) {
        lastWriteNanos = Math.max(lastWriteNanos, state.outflow().clockNanos());
        queues.get(state.id().queue()).restore(state);
    }

    /** Starts work after all queues and buckets are restored. */
    void resume() {
        for (QueueBuckets queue : queues.values()) {
            queue.resume();
            track(queue, lastWriteNanos);
        }
    }

    /**
     * Returns when the latest of the restored states was written, in nanoseconds since the epoch; 0 if there are none.
     */
    long lastWriteNanos() {
        return lastWriteNanos;
    }

    /** Returns a queue, null if there is none. */
    QueueBuckets queue(String id) {
        return queues.get(id);
    }

    Map<String, QueueBuckets> queues() {
        return queues;
    }

    long waiting() {
        return waiting;
    }

    /** Returns how many released requests are processed by workers, who must acknowledge them. */
    long inFlight() {
        return inFlight;
    }

    /** Returns how many buckets with a key are on the heap. */
    long hotKeys() {
        return hot.keys();
    }

    /**
     * Runs work on a bucket.
     *
     * @param rules the rules for its queue, and for a bucket that does not exist yet; null if neither may be created
     * @return whether there is such a bucket
     */
    boolean use(BucketId id, QueueRules rules, long nowNanos, Consumer<LeakyBucketQueue> work) {
        QueueBuckets queue = queues.get(id.queue());
        if (queue == null && rules == null) {
            return false;
        }
        if (queue == null) {
            queue = add(new QueueState(rules, 0));
            queue.saveQueue();
        }
        boolean isFound = queue.use(id, rules != null, nowNanos, work);
        settle(queue, nowNanos);
        return isFound;
    }

    /** See {@link QueueBuckets#evictBeyondTotal}. */
    void evictBeyondTotal(BucketId admittedTo, int priority, long nowNanos) {
        QueueBuckets queue = queues.get(admittedTo.queue());
        queue.evictBeyondTotal(admittedTo, priority, nowNanos);
        settle(queue, nowNanos);
    }

    /** Returns an empty bucket for queries. It is not stored. */
    LeakyBucketQueue fresh(BucketId id, QueueRules rules, long nowNanos) {
        PacedQueueRules paced = PacedQueueRules.of(rules);
        LeakyBucketQueue fresh = new LeakyBucketQueue(
                LeakyBucketQueue.fresh(id, paced, nowNanos),
                paced,
                shared.tables().of(id),
                QueueBacklog.unobserved(),
                shared.effects());
        fresh.obey(shared.orders().pauses(id), 0);
        return fresh;
    }

    /** Puts rules in force, or makes a queue drain; see {@link QueueBuckets#adopt}. */
    void adopt(String id, QueueRules current, long nowNanos) {
        QueueBuckets queue = queues.get(id);
        if (queue != null && !queue.isInForce(current)) {
            queue.adopt(current, nowNanos);
            settle(queue, nowNanos);
        }
    }

    /**
     * Puts a command of an operator in effect.
     *
     * @param number the number of the command in the order of arrival, which requests and commands share
     */
    void obey(QueueCommand command, long number, long nowNanos) {
        shared.orders().obey(command, number);
        QueueBuckets queue = queues.get(command.target().queue());
        if (queue != null) {
            queue.obey(command, nowNanos);
            settle(queue, nowNanos);
        } else {
            endPurges(command.target().queue());
        }
    }

    /** Ends all purges of a queue in which nothing waits. */
    private void endPurges(String queue) {
        shared.orders().purges(queue).forEach(shared.orders()::endPurge);
    }

    void receive(SlotGrant grant, long nowNanos) {
        QueueBuckets queue = queues.get(grant.place().queue());
        if (queue != null) {
            queue.receive(grant, nowNanos);
            settle(queue, nowNanos);
        }
    }

    /** Sets the time of all buckets back. */
    void stepBack(long nowNanos) {
        outdatedSinceNanos = Math.min(outdatedSinceNanos, nowNanos);
        for (QueueBuckets queue : List.copyOf(queues.values())) {
            queue.stepBack(nowNanos);
            settle(queue, nowNanos);
        }
    }

    /** Makes buckets adopt changed rules, or a step of the time. */
    void catchUp(long nowNanos, WorkBudget budget) {
        for (QueueBuckets queue : List.copyOf(outdated)) {
            queue.catchUp(nowNanos, budget);
            settle(queue, nowNanos);
        }
    }

    /** Returns when a bucket is due, must be loaded or must adopt rules; {@link DueTime#NEVER} if none is. */
    long dueNanos() {
        long dueNanos = Math.min(slotTimers.firstNanos(), Math.min(hot.dueNanos(), coldTimers.firstNanos()));
        return outdated.isEmpty() ? dueNanos : Math.min(dueNanos, outdatedSinceNanos);
    }

    /** Works on the queues with a total that have something due. Returns how many steps that took. */
    int workInSlots(long nowNanos, int steps) {
        int spent = 0;
        while (spent < steps && slotTimers.firstNanos() <= nowNanos) {
            QueueBuckets queue = queues.get(slotTimers.first());
            spent += queue.releaseInSlots(nowNanos, Math.min(steps - spent, STEPS_PER_TURN));
            settle(queue, nowNanos);
        }
        return spent;
    }

    /** Works on the buckets that are due, alternating between hot and cold ones. Returns how many steps are left. */
    int work(long nowNanos, int steps) {
        int left = steps;
        boolean isMore = true;
        while (left > 0 && isMore) {
            LeakyBucketQueue bucket = hot.due(nowNanos);
            isMore = bucket != null;
            if (isMore) {
                WorkBudget turn = new WorkBudget(Math.min(left, STEPS_PER_TURN));
                QueueBuckets queue = queues.get(bucket.id().queue());
                queue.work(bucket, nowNanos, turn);
                settle(queue, nowNanos);
                left -= Math.max(1, turn.spent());
            }
            if (left > 0 && coldTimers.firstNanos() <= nowNanos) {
                isMore = true;
                WorkBudget reading = new WorkBudget(left);
                loadDue(queues.get(coldTimers.first()), nowNanos, reading);
                left -= reading.spent();
            }
        }
        return left;
    }

    private void loadDue(QueueBuckets queue, long nowNanos, WorkBudget budget) {
        LeakyBucketQueue bucket = queue.loadDue(nowNanos, budget);
        // a bucket that is already due stays hot, since it has work to do, even if all hot ones are due before it
        if (bucket != null && bucket.scheduledNanos() > nowNanos) {
            unloadExcess(queue, nowNanos);
        }
        track(queue, nowNanos);
    }

    private QueueBuckets add(QueueState state) {
        QueueBacklog backlog = new QueueBacklog(more -> waiting += more, more -> inFlight += more);
        QueueBuckets queue = new QueueBuckets(state, shared, backlog);
        queues.put(queue.id(), queue);
        return queue;
    }

    /** Completes an operation on a queue. */
    private void settle(QueueBuckets queue, long nowNanos) {
        unloadExcess(queue, nowNanos);
        queue.endPurges();
        track(queue, nowNanos);
    }

    private void unloadExcess(QueueBuckets used, long nowNanos) {
        for (int i = 0; i < MAX_UNLOADS && hot.keys() > hotKeys; i++) {
            LeakyBucketQueue last = hot.lastUnloadable();
            QueueBuckets queue = last == null ? used : queues.get(last.id().queue());
            LeakyBucketQueue bucket = last == null ? used.lastContending() : last;
            if (bucket == null) {
                return;
            }
            queue.unload(bucket, nowNanos);
            if (queue != used) {
                track(queue, nowNanos);
            }
        }
    }

    /** Updates when a queue has something to do, or removes it if it was to drain and has no buckets left. */
    private void track(QueueBuckets queue, long nowNanos) {
        if (queue.isDrained()) {
            remove(queue, nowNanos);
            return;
        }
        slotTimers.set(queue.id(), queue.slotsDueNanos(nowNanos));
        if (coldTimers.nanos(queue.id()) != queue.coldDueNanos()) {
            coldTimers.set(queue.id(), queue.coldDueNanos());
        }
        if (!queue.hasOutdated()) {
            outdated.remove(queue);
        } else if (outdated.add(queue) && outdated.size() == 1) {
            outdatedSinceNanos = nowNanos;
        }
    }

    private void remove(QueueBuckets queue, long nowNanos) {
        queue.reportLast(nowNanos);
        endPurges(queue.id());
        slotTimers.cancel(queue.id());
        coldTimers.cancel(queue.id());
        outdated.remove(queue);
        queues.remove(queue.id());
        shared.effects().add(new QueueEffect.QueueStored(queue.id(), null));
    }
}
