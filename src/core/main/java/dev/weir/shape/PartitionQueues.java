package dev.weir.shape;

import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.timer.TimerQueue;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.shape.total.InFlightBorrower;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalReport;
import dev.weir.time.DueTime;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The queues of a partition: which of them has something to do next, and which bucket leaves the heap if too many are
 * hot. That is the one due last or, if there is none, one that contends under its queue's total: in the lowest
 * tier, one whose turn is last. It is loaded again before its turn. A bucket with more flows than its state can list
 * stays hot.
 */
final class PartitionQueues {

    /** The most steps that one bucket takes before others get their turn. */
    private static final int STEPS_PER_TURN = 500;

    /** The most buckets that are unloaded at once. Those that are still too many leave after the next operation. */
    private static final int MAX_UNLOADS = 2_000;

    private final PartitionContext context;
    private final HotTimers hotTimers;
    private final int hotKeys;
    private final Map<String, PartitionQueue> queues = new TreeMap<>();
    private final TimerQueue<String> totalTimers = new TimerQueue<>(); // of queues with a total
    private final TimerQueue<String> coldTimers = new TimerQueue<>(); // of queues with cold buckets
    private final Set<PartitionQueue> stale = new LinkedHashSet<>();
    private long staleSinceNanos;
    private long waiting;
    private long inFlight;
    private long lastWriteNanos;
    private long lastLoan; // the highest number of a loan to a queue that was removed

    PartitionQueues(PartitionContext context, int hotKeys) {
        this.context = context;
        hotTimers = context.hotTimers();
        this.hotKeys = hotKeys;
    }

    void restore(QueueState state) {
        add(state);
    }

    /** Restores a bucket of a restored queue. */
    void restore(BucketState state) {
        lastWriteNanos = Math.max(lastWriteNanos, state.outflow().clockNanos());
        queues.get(state.id().queue()).buckets().restore(state);
    }

    /** See {@link QueueEffect.LastLoanStored}. */
    void restoreLastLoan(long number) {
        lastLoan = number;
    }

    /** Starts work after all queues and buckets are restored. */
    void resume() {
        for (PartitionQueue queue : queues.values()) {
            queue.buckets().resume();
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
    PartitionQueue get(String id) {
        return queues.get(id);
    }

    Map<String, PartitionQueue> byId() {
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
        return hotTimers.keys();
    }

    /**
     * Runs work on a bucket.
     *
     * @param rules the rules for its queue, and for a bucket that does not exist yet; null if neither may be created
     * @return whether there is such a bucket
     */
    boolean use(BucketId id, QueueRules rules, long nowNanos, Consumer<LeakyBucketQueue> work) {
        PartitionQueue queue = queues.get(id.queue());
        if (queue == null && rules == null) {
            return false;
        }
        if (queue == null) {
            queue = add(new QueueState(rules, 0, new InFlightLoan(lastLoan, 0)));
            queue.save();
        }
        boolean isFound = queue.use(id, rules != null, nowNanos, work);
        settle(queue, nowNanos);
        return isFound;
    }

    /** See {@link PartitionQueue#evictBeyondTotal}. */
    void evictBeyondTotal(BucketId admittedTo, int priority, long nowNanos) {
        PartitionQueue queue = queues.get(admittedTo.queue());
        queue.evictBeyondTotal(admittedTo, priority, nowNanos);
        settle(queue, nowNanos);
    }

    /** Returns an empty bucket for queries. It is not stored. */
    LeakyBucketQueue fresh(BucketId id, QueueRules rules, long nowNanos) {
        PacedQueueRules paced = PacedQueueRules.of(rules);
        LeakyBucketQueue fresh = context.fresh(id, paced, QueueBacklog.unobserved(), nowNanos);
        fresh.obey(context.orders().pauses(id), 0);
        return fresh;
    }

    /** Puts rules in force, or makes a queue drain; see {@link PartitionQueue#adopt}. */
    void adopt(String id, QueueRules current, long nowNanos) {
        PartitionQueue queue = queues.get(id);
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
        context.orders().obey(command, number);
        PartitionQueue queue = queues.get(command.target().queue());
        if (queue != null) {
            queue.obey(command, nowNanos);
            settle(queue, nowNanos);
        } else {
            endPurges(command.target().queue());
        }
    }

    /** Ends all purges of a queue in which nothing waits. */
    private void endPurges(String queue) {
        context.orders().purges(queue).forEach(context.orders()::endPurge);
    }

    void receive(TotalGrant grant, long nowNanos) {
        PartitionQueue queue = queues.get(grant.place().queue());
        if (queue != null) {
            queue.receive(grant, nowNanos);
            settle(queue, nowNanos);
        } else if (grant.inFlight().loan().slots() > 0) {
            returnLoan(grant);
        }
    }

    /** Returns slots that were lent to a queue which was removed since. */
    private void returnLoan(TotalGrant grant) {
        ignoreLoansUntil(grant.inFlight().loan().number());
        InFlightBorrower removed = new InFlightBorrower(grant.inFlight().loan());
        TotalReport report = TotalReport.ofNoDemand(grant.place(), removed.close());
        context.effects().add(new QueueEffect.Sent(new QueueMessage.Reported(report)));
    }

    private void ignoreLoansUntil(long number) {
        if (number > lastLoan) {
            lastLoan = number;
            context.effects().add(new QueueEffect.LastLoanStored(number));
        }
    }

    /** Sets the time of all buckets back. */
    void stepBack(long nowNanos) {
        staleSinceNanos = Math.min(staleSinceNanos, nowNanos);
        for (PartitionQueue queue : List.copyOf(queues.values())) {
            queue.stepBack(nowNanos);
            settle(queue, nowNanos);
        }
    }

    /** Makes buckets adopt changed rules, or a step of the time. */
    void catchUp(long nowNanos, WorkBudget budget) {
        for (PartitionQueue queue : List.copyOf(stale)) {
            queue.buckets().catchUp(nowNanos, budget);
            settle(queue, nowNanos);
        }
    }

    /** Returns when a bucket is due, must be loaded or must adopt rules; {@link DueTime#NEVER} if none is. */
    long dueNanos() {
        long dueNanos = Math.min(totalTimers.firstNanos(), Math.min(hotTimers.dueNanos(), coldTimers.firstNanos()));
        return stale.isEmpty() ? dueNanos : Math.min(dueNanos, staleSinceNanos);
    }

    /** Releases what is due under totals, and reports to their ledgers. Returns how many steps that took. */
    int releaseUnderTotals(long nowNanos, int steps) {
        int spent = 0;
        while (spent < steps && totalTimers.firstNanos() <= nowNanos) {
            PartitionQueue queue = queues.get(totalTimers.first());
            spent += queue.releaseUnderTotal(nowNanos, Math.min(steps - spent, STEPS_PER_TURN));
            settle(queue, nowNanos);
        }
        return spent;
    }

    /** Works on the buckets that are due, alternating between hot and cold ones. Returns how many steps are left. */
    int work(long nowNanos, int steps) {
        int left = steps;
        boolean isMore = true;
        while (left > 0 && isMore) {
            LeakyBucketQueue bucket = hotTimers.due(nowNanos);
            isMore = bucket != null;
            if (isMore) {
                WorkBudget turn = new WorkBudget(Math.min(left, STEPS_PER_TURN));
                PartitionQueue queue = queues.get(bucket.id().queue());
                queue.buckets().work(bucket, nowNanos, turn);
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

    private void loadDue(PartitionQueue queue, long nowNanos, WorkBudget budget) {
        LeakyBucketQueue bucket = queue.buckets().loadDue(nowNanos, budget);
        // a bucket that is already due stays hot, since it has work to do, even if all hot ones are due before it
        if (bucket != null && bucket.timerNanos() > nowNanos) {
            unloadExcess(queue, nowNanos);
        }
        track(queue, nowNanos);
    }

    private PartitionQueue add(QueueState state) {
        QueueBacklog backlog = new QueueBacklog(more -> waiting += more, more -> inFlight += more);
        PartitionQueue queue = new PartitionQueue(state, context, backlog);
        queues.put(queue.id(), queue);
        return queue;
    }

    /** Completes an operation on a queue. */
    private void settle(PartitionQueue queue, long nowNanos) {
        unloadExcess(queue, nowNanos);
        queue.endPurges();
        track(queue, nowNanos);
    }

    private void unloadExcess(PartitionQueue used, long nowNanos) {
        for (int i = 0; i < MAX_UNLOADS && hotTimers.keys() > hotKeys; i++) {
            LeakyBucketQueue last = hotTimers.lastUnloadable();
            PartitionQueue queue = last == null ? used : queues.get(last.id().queue());
            LeakyBucketQueue bucket = last == null ? used.lastContending() : last;
            if (bucket == null) {
                return;
            }
            queue.buckets().unload(bucket, nowNanos);
            if (queue != used) {
                track(queue, nowNanos);
            }
        }
    }

    /** Updates when a queue has something to do, or removes it if it was to drain and has no buckets left. */
    private void track(PartitionQueue queue, long nowNanos) {
        if (queue.isDrained()) {
            remove(queue, nowNanos);
            return;
        }
        totalTimers.set(queue.id(), queue.totalDueNanos(nowNanos));
        if (coldTimers.nanos(queue.id()) != queue.buckets().coldDueNanos()) {
            coldTimers.set(queue.id(), queue.buckets().coldDueNanos());
        }
        if (!queue.buckets().hasStale()) {
            stale.remove(queue);
        } else if (stale.add(queue) && stale.size() == 1) {
            staleSinceNanos = nowNanos;
        }
    }

    private void remove(PartitionQueue queue, long nowNanos) {
        queue.reportLast(nowNanos);
        ignoreLoansUntil(queue.lastLoan());
        endPurges(queue.id());
        totalTimers.cancel(queue.id());
        coldTimers.cancel(queue.id());
        stale.remove(queue);
        queues.remove(queue.id());
        context.effects().add(new QueueEffect.QueueStored(queue.id(), null));
    }
}
