package dev.weir.shape;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * All queues of one partition, or of all partitions. Each queue is one leaky bucket, or one per key.
 *
 * <pre>
 *   receive ─▶ Shaper ─▶ PartitionQueues ─▶ PartitionQueue ─▶ QueueBuckets ─▶ LeakyBucketQueue
 *                        which queue        its rules         life of its     what waits, and its pace
 *                                                             buckets
 *   tick ────▶ Shaper ─▶ PartitionQueues
 *                │         ├─ no total ─▶ QueueBuckets.work ──────▶ LeakyBucketQueue.drain
 *                │         │              the bucket that is due    releases what its own pace permits
 *                │         ╰─ total ────▶ TotalReleases.release ──▶ LeakyBucketQueue.releaseHead
 *                │                        the bucket that is next   releases one request, if the total permits it too
 *                ├─────▶ TotalLedgers     the time of totals, for all partitions
 *                ╰─────▶ effects          decisions, releases, messages, states to store
 * </pre>
 *
 * <p>A tick works only on the buckets that are due, so its cost does not grow with the number of buckets. The bucket of
 * a key is removed once nothing waits in it and its past releases no longer affect its rate, and a deleted queue once
 * this is so for all of its buckets. A queue that gets another key is treated as deleted until then. Time is an
 * argument and never decreases, unless it {@linkplain #stepBack steps back}.
 *
 * <p>Each operation returns its effects. Besides, it reads and writes the {@link Tables}, which hold what is too large
 * for the heap.
 */
public final class Shaper {

    /** The latest time that can be represented in nanoseconds, with room for waits: the year 2200, in milliseconds. */
    public static final long MAX_TIME_MS = 7_258_118_400_000L;

    private static final long NANOS_PER_MS = 1_000_000;

    /** The rules of the queues. */
    public interface RulesSource {

        /** Returns the rules in force, null if there is no such queue. */
        QueueRules of(String queue);
    }

    /**
     * What the queues keep outside of the heap. Waiting requests, timers and answers are read and written at once.
     * States are only read, when they are restored or a bucket is loaded; effects store them, in the same transaction.
     */
    public interface Tables {

        /** Returns the requests of a bucket. */
        QueueStore of(BucketId bucket);

        /** Returns the stored state of a bucket with a key, null if there is none. */
        BucketState load(BucketId bucket);

        /** Returns the timers of the cold buckets. */
        KeyValueTable<TimerKey, BucketId> timers();

        /** Returns the cache of the queues' answers to requests that may be repeated. */
        IdempotencyCache idempotencyCache();

        /** Passes on what was stored last of each queue, bucket and ledger; each queue before its buckets. */
        void readStates(Consumer<QueueEffect.StateStored> states);

        /**
         * Passes on the requests that wait in a bucket, or were released by it and have not ended; those of one flow in
         * the order of their positions.
         */
        void readWaiting(BucketId bucket, BiConsumer<Place, QueueEntry> requests);
    }

    /**
     * How a shaper exchanges messages with those of other partitions.
     *
     * @param partition the number of its partition
     * @param expectedDelayMs how long a message is expected to take until one has arrived, in milliseconds
     */
    public record Messaging(int partition, long expectedDelayMs) {}

    private final RulesSource rules;
    private final EffectLog effects;
    private final BucketStates states;
    private final PartitionQueues queues;
    private final TotalLedgers ledgers;
    private final OperatorOrders orders;
    private final AdmissionRules admissions;
    private final QueueQueries queries;
    private final boolean hasAllKeys;

    /**
     * Restores a shaper that has all keys. It sends no messages.
     *
     * @param hotKeys the most keys on the heap, 1 or more
     */
    public Shaper(RulesSource rules, Tables tables, int hotKeys) {
        this(rules, tables, new Messaging(0, 0), hotKeys, true);
    }

    /**
     * Restores a shaper that has the keys of one partition.
     *
     * @param hotKeys the most keys on the heap, 1 or more
     */
    public Shaper(RulesSource rules, Tables tables, Messaging messaging, int hotKeys) {
        this(rules, tables, messaging, hotKeys, false);
    }

    private Shaper(RulesSource rules, Tables tables, Messaging messaging, int hotKeys, boolean hasAllKeys) {
        this.rules = rules;
        this.hasAllKeys = hasAllKeys;
        effects = new EffectLog(tables.idempotencyCache());
        states = new BucketStates(tables, effects);
        orders = new OperatorOrders(effects);
        queues = new PartitionQueues(
                new PartitionContext(tables, states, effects, new HotTimers(), messaging, orders), hotKeys);
        ledgers = new TotalLedgers(rules, effects);
        admissions = new AdmissionRules(queues, orders);
        queries = new QueueQueries(rules, queues, admissions, orders, effects);
        tables.readStates(this::restore);
        queues.resume();
    }

    private void restore(QueueEffect.StateStored stored) {
        if (stored instanceof QueueEffect.QueueStored queue) {
            queues.restore(queue.state());
        } else if (stored instanceof QueueEffect.BucketStored bucket) {
            queues.restore(bucket.state());
        } else if (stored instanceof QueueEffect.OrdersStored ordered) {
            orders.restore(ordered.target(), ordered.orders());
        } else if (stored instanceof QueueEffect.LastLoanStored last) {
            queues.restoreLastLoan(last.number());
        } else {
            QueueEffect.LedgerStored ledger = (QueueEffect.LedgerStored) stored;
            ledgers.restore(ledger.queue(), ledger.state());
        }
    }

    /**
     * Answers a request, in any case: admits it to its bucket or denies it, withdraws another one, or ends or prolongs an
     * attempt. A repeat gets the first answer, if that is still known, whatever happened to the request since.
     *
     * @param number the request's number in the order of arrival
     * @param enqueuedAtMs when it arrived, not after now
     */
    public List<QueueEffect> admit(Admission admission, long number, long enqueuedAtMs, long nowNanos) {
        if (admission.repeated()) {
            effects.decideRepeat(admission, nowNanos / NANOS_PER_MS);
            return end(nowNanos);
        }
        QueueRules inForce = rules.of(admission.queue());
        queues.adopt(admission.queue(), inForce, nowNanos);
        if (admission.request().kind().isAcknowledgement()) {
            acknowledge(admission, nowNanos);
            return end(nowNanos);
        }
        QueueRules current = AdmissionRules.admitting(inForce, queues.get(admission.queue()));
        Decision fault = admissions.fault(admission, current, nowNanos);
        if (fault != null) {
            effects.decide(admission, fault);
            return end(nowNanos);
        }
        long waitingBefore = queues.waiting();
        boolean isCancel = AdmissionRules.isCancel(admission);
        BucketId id = BucketId.of(admission);
        boolean isFound = queues.use(id, current, nowNanos, bucket -> {
            if (isCancel) {
                bucket.cancel(admission, nowNanos);
            } else {
                bucket.offer(admission, number, enqueuedAtMs, nowNanos);
            }
        });
        if (!isFound) {
            effects.decide(admission, AdmissionRules.noQueue(admission, nowNanos));
        }
        if (queues.waiting() > waitingBefore && current.total() != null) {
            queues.evictBeyondTotal(id, AdmissionRules.priority(admission, current, nowNanos), nowNanos);
        }
        return end(nowNanos);
    }

    /** Passes the answer of a worker to the bucket of its receipt, which can be one of a queue that drains. */
    private void acknowledge(Admission answer, long nowNanos) {
        boolean isFound =
                queues.use(BucketId.of(answer), null, nowNanos, bucket -> bucket.acknowledge(answer, nowNanos));
        if (!isFound) {
            effects.decide(answer, AdmissionRules.staleAttempt(answer, nowNanos));
        }
    }

    /**
     * Handles a message that is not a marker.
     *
     * @param number the message's number in the order of arrival
     * @param sentAtMs when it was sent, not after now
     */
    public List<QueueEffect> receive(QueueMessage message, long number, long sentAtMs, long nowNanos) {
        if (message instanceof QueueMessage.Admitted admitted) {
            return admit(admitted.admission(), number, sentAtMs, nowNanos);
        }
        if (message instanceof QueueMessage.Commanded commanded) {
            queues.obey(commanded.command(), number, nowNanos);
        } else {
            receive(message, nowNanos);
        }
        return end(nowNanos);
    }

    private void receive(QueueMessage message, long nowNanos) {
        if (message instanceof QueueMessage.Reported reported) {
            ledgers.receive(reported.report(), nowNanos);
        } else if (message instanceof QueueMessage.Granted granted) {
            queues.receive(granted.grant(), nowNanos);
        }
    }

    /** Sets the time of all queues back, because it was wrong. */
    public List<QueueEffect> stepBack(long nowNanos) {
        queues.stepBack(nowNanos);
        ledgers.stepBack(nowNanos);
        return end(nowNanos);
    }

    /**
     * Puts changed rules in force, also for waiting requests, unless their queue has to drain before. Some buckets
     * adopt them now, others with each {@link #tick}, and each at the latest before it is next used.
     */
    public List<QueueEffect> refresh(long nowNanos) {
        List.copyOf(queues.byId().keySet()).forEach(id -> queues.adopt(id, rules.of(id), nowNanos));
        ledgers.refresh(nowNanos);
        return end(nowNanos);
    }

    /**
     * Releases and expires what is due, and makes buckets adopt changed rules.
     *
     * @param steps the most steps of work: up to half for changed rules, and half of the rest for queues with a total,
     *     so that none of these has to wait for the others. Remaining work is due at once
     */
    public List<QueueEffect> tick(long nowNanos, int steps) {
        WorkBudget changes = new WorkBudget(Math.max(1, steps / 2));
        queues.catchUp(nowNanos, changes);
        ledgers.grantDue(nowNanos);
        deliver(nowNanos);
        int left = steps - changes.spent();
        left -= queues.releaseUnderTotals(nowNanos, (left + 1) / 2);
        left = queues.work(nowNanos, left);
        queues.releaseUnderTotals(nowNanos, left);
        return end(nowNanos);
    }

    /** If all keys are here, messages arrive as soon as the current work is done. */
    private void deliver(long nowNanos) {
        List<QueueMessage> arriving = hasAllKeys ? effects.takeMessages() : List.of();
        while (!arriving.isEmpty()) {
            arriving.forEach(message -> receive(message, nowNanos));
            arriving = effects.takeMessages();
        }
    }

    private List<QueueEffect> end(long nowNanos) {
        deliver(nowNanos);
        states.storeUsed();
        return effects.take();
    }

    /**
     * Returns when there is something to do; {@link DueTime#NEVER} if nothing waits and no bucket has to be deleted.
     */
    public long dueNanos() {
        return Math.min(queues.dueNanos(), ledgers.dueNanos());
    }

    /**
     * Returns when the latest of the restored buckets and ledgers was written, in milliseconds since the epoch; 0 if
     * there are none.
     */
    public long lastWriteMs() {
        return Math.max(queues.lastWriteNanos(), ledgers.lastWriteNanos()) / NANOS_PER_MS;
    }

    /**
     * Returns whether the shaper needs the time: requests wait here or must be acknowledged by a time, or partitions use
     * a total whose ledger is here.
     */
    public boolean needsTime() {
        return hasWaiting() || queues.inFlight() > 0 || ledgers.dueNanos() < DueTime.NEVER;
    }

    /** Returns how many keys of all queues are on the heap. */
    public long hotKeys() {
        return queues.hotKeys();
    }

    /** Returns whether any request waits. */
    public boolean hasWaiting() {
        return queues.waiting() > 0;
    }

    /** Returns the read-only queries of these queues. */
    public QueueQueries queries() {
        return queries;
    }
}
