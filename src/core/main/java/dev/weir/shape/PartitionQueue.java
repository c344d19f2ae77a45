package dev.weir.shape;

import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.shape.total.InFlightBorrower;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalReport;
import dev.weir.time.DueTime;
import java.util.function.Consumer;

/**
 * One queue on this partition: the rules and commands in effect, which its buckets follow, and its state.
 *
 * <pre>
 *   PartitionQueue ──▶ QueueBuckets       creates, loads, runs, saves, unloads and forgets buckets
 *         ╰──────────▶ TotalReleases      with a total: which bucket runs next, in order to release
 * </pre>
 *
 * <p>A queue that was deleted, or has got another key, drains and is removed with its last bucket. So the buckets of a
 * queue always have the same key fields.
 */
final class PartitionQueue {

    /** The most buckets that adopt changed rules or commands in the same call. */
    private static final int MAX_UPDATES_AT_ONCE = 500;

    private static final Consumer<LeakyBucketQueue> NO_WORK = bucket -> {};

    private final PartitionContext context;
    private final OperatorOrders orders;
    private final QueueBuckets buckets;
    private final InFlightBorrower borrower;
    private TotalReleases total; // null if the queue has no total
    private QueueRules inForce; // unless the queue drains; buckets keep equal rules, so that comparing objects suffices

    /**
     * Creates a queue without buckets.
     *
     * @param backlog an empty one, in which the requests of all its buckets are counted
     */
    PartitionQueue(QueueState state, PartitionContext context, QueueBacklog backlog) {
        this.context = context;
        orders = context.orders();
        QueueTerms terms = new QueueTerms(PacedQueueRules.of(state.rules()), Contention.none(), false);
        buckets = new QueueBuckets(terms, state.epoch(), context, backlog);
        borrower = new InFlightBorrower(state.borrowed());
        inForce = state.rules();
        setRules(terms.paced());
    }

    /** Returns the buckets of this queue. */
    QueueBuckets buckets() {
        return buckets;
    }

    /** Runs work on a bucket; see {@link QueueBuckets#use}. */
    boolean use(BucketId id, boolean mayCreate, long nowNanos, Consumer<LeakyBucketQueue> work) {
        return buckets.use(id, mayCreate, nowNanos, work);
    }

    /** See {@link TotalReleases#evictExcess}. Does nothing without a total. */
    void evictBeyondTotal(BucketId admittedTo, int priority, long nowNanos) {
        if (total != null) {
            total.evictExcess(admittedTo, priority, nowNanos);
        }
    }

    /**
     * Releases the requests whose time has come under the total, and sends a report if one is due. There must be a total.
     * Returns how many steps that took.
     */
    int releaseUnderTotal(long nowNanos, int most) {
        int steps = total.release(nowNanos, most);
        saveBorrowed();
        return steps;
    }

    /** Adds time and slots of the total that this partition was granted. */
    void receive(TotalGrant grant, long nowNanos) {
        if (total != null) {
            total.receive(grant, nowNanos);
        } else {
            borrower.receive(grant.inFlight(), backlog().slots());
            returnBorrowed();
        }
        saveBorrowed();
    }

    /** Returns when there is something to release under the total, or to report; {@link DueTime#NEVER} without one. */
    long totalDueNanos(long nowNanos) {
        return total == null ? DueTime.NEVER : total.dueNanos(nowNanos);
    }

    /** Returns all slots to the ledger of the total. */
    private void returnBorrowed() {
        if (borrower.loan().slots() > 0) {
            QueuePartition place = new QueuePartition(id(), context.messaging().partition());
            TotalReport report = TotalReport.ofNoDemand(place, borrower.close());
            context.effects().add(new QueueEffect.Sent(new QueueMessage.Reported(report)));
        }
    }

    /** Returns the number of the last loan that was received. */
    long lastLoan() {
        return borrower.loan().number();
    }

    private void saveBorrowed() {
        if (borrower.testAndClearChanged()) {
            save();
        }
    }

    /** See {@link TotalReleases#isFull}. Without a total, the queue is not. */
    boolean isTotalFull(int priority) {
        return total != null && total.isFull(priority);
    }

    /** See {@link TotalReleases#retryAfterMs}. There must be a total. */
    long retryAfterMs(long nowNanos) {
        return total.retryAfterMs(nowNanos);
    }

    /** Returns a bucket that contends under the total and can be unloaded; null if there is none. */
    LeakyBucketQueue lastContending() {
        return total == null ? null : total.lastContending();
    }

    /** Reports to the ledger of the total, if there is one, that nothing waits any more, and returns all slots. */
    void reportLast(long nowNanos) {
        if (total != null) {
            total.report(nowNanos);
        }
        returnBorrowed();
    }

    /**
     * Puts rules in force, or makes the queue drain if its buckets {@linkplain #canAdopt cannot adopt} them. Some
     * buckets adopt them now, the others with {@link QueueBuckets#catchUp} or when they are used.
     *
     * @param current null if the queue was deleted
     */
    void adopt(QueueRules current, long nowNanos) {
        boolean isDraining = !canAdopt(current);
        buckets.setTerms(buckets.terms().draining(isDraining));
        if (!isDraining && current != inForce) {
            inForce = current;
            if (!current.equals(rules())) {
                change(current, nowNanos);
            }
        }
        LeakyBucketQueue only = buckets.only();
        if (isDraining && only != null) {
            buckets.update(only, nowNanos); // for when it can be removed
        }
    }

    private void change(QueueRules current, long nowNanos) {
        QueueRules before = rules();
        setRules(PacedQueueRules.of(current));
        if (!current.hasSameDueTimesAs(before)) {
            buckets.makeHotStale();
            buckets.makeColdStale();
        }
        save();
        buckets.catchUp(nowNanos, new WorkBudget(MAX_UPDATES_AT_ONCE));
    }

    private void setRules(PacedQueueRules newRules) {
        QueueRules rules = newRules.rules();
        if (rules.total() == null) {
            total = null;
            returnBorrowed();
            buckets.setTerms(buckets.terms().with(newRules, Contention.none()));
        } else if (total == null) {
            PartitionTotal contention = new PartitionTotal(rules, context.messaging(), borrower, backlog());
            total = new TotalReleases(buckets, contention, context);
            buckets.setTerms(buckets.terms().with(newRules, contention));
        } else {
            total.setRules(rules);
            buckets.setTerms(buckets.terms().with(newRules));
        }
    }

    /** Puts a command in effect that was added to the orders. Some buckets obey now, others when they are used. */
    void obey(QueueCommand command, long nowNanos) {
        boolean isResume = command.action() == QueueCommand.Action.RESUME;
        if (command.target().isKeyed()) {
            use(command.target(), false, nowNanos, isResume ? bucket -> bucket.resume(nowNanos) : NO_WORK);
            return;
        }
        if (isResume && total != null) {
            total.resume(nowNanos);
        }
        buckets.makeHotStale();
        boolean changesDueTimes =
                switch (command.action()) {
                    case RESUME, PURGE -> true;
                    case PAUSE, DRAIN -> false;
                };
        if (changesDueTimes && buckets.hasCold()) {
            buckets.makeColdStale();
            save();
        }
        buckets.catchUp(nowNanos, new WorkBudget(MAX_UPDATES_AT_ONCE));
    }

    /** Ends the purges that are done. */
    void endPurges() {
        for (BucketId target : orders.purges(id())) {
            if (buckets.hasPurged(target)) {
                orders.endPurge(target);
            }
        }
    }

    /** Stores the state of the queue, apart from its buckets. */
    void save() {
        context.effects()
                .add(new QueueEffect.QueueStored(id(), new QueueState(rules(), buckets.epoch(), borrower.loan())));
    }

    /** Sets the time of all buckets back: of the hot ones now, of the cold ones when they are next loaded. */
    void stepBack(long nowNanos) {
        if (total != null) {
            total.stepBack();
        }
        if (buckets.stepBackCold(nowNanos)) {
            save();
        }
        buckets.stepBackHot(nowNanos);
    }

    /** Returns whether these rules, the same object, are in force and the queue does not drain. */
    boolean isInForce(QueueRules current) {
        return current == inForce && !buckets.terms().isDraining();
    }

    /** Returns the rules in force, or the last ones. */
    QueueRules rules() {
        return buckets.terms().rules();
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
        return current != null && (current == inForce || current.hasSameKeyAs(rules()));
    }

    /** Returns whether the queue was to drain and all of its buckets were removed. */
    boolean isDrained() {
        return buckets.terms().isDraining() && buckets.size() == 0;
    }

    /** Returns whether nothing waits and past releases no longer matter, so that a new queue would behave the same. */
    boolean isUnused(long nowNanos) {
        LeakyBucketQueue only = buckets.only();
        return buckets.size() == 0 || only != null && only.isIdle(nowNanos);
    }

    /** Returns what waits in all buckets; it changes with them. */
    QueueBacklog backlog() {
        return buckets.backlog();
    }
}
