package dev.weir.shape;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/** The buckets of one queue, as far as they are on this partition: the hot ones, and when the cold ones are due. */
final class QueueBuckets {

    final Map<BucketId, LeakyBucketQueue> hot = new LinkedHashMap<>();
    final TimingWheel cold;
    final Backlog backlog;
    final LongestKeys longest = new LongestKeys();

    /** Hot buckets that have not taken over the rules yet. */
    final Deque<LeakyBucketQueue> behind = new ArrayDeque<>();

    private final SlotMessenger messenger;
    private PacedRules rules;
    private QueueSlots slots; // null: the queue has no total
    private boolean isDeleted;
    private long coldDueNanos = Long.MAX_VALUE; // by which the queues are ordered
    private long steppedBackToNanos;
    private long steppedBackEpoch; // states of cold buckets of earlier epochs were written before time was set back

    /** @param waiting receives each change of the number of waiting requests, negative if it falls */
    QueueBuckets(QueueState state, Shaper.Stores stores, SlotMessenger messenger, LongConsumer waiting) {
        this.messenger = messenger;
        setRules(PacedRules.of(state.rules()));
        cold = new TimingWheel(state.rules().id(), stores.timers(), state.epoch());
        backlog = new Backlog(waiting);
    }

    /** The rules in force, or the last that were. */
    QueueRules rules() {
        return rules.rules();
    }

    PacedRules paced() {
        return rules;
    }

    /** What it does about its total; null if it has none. */
    QueueSlots slots() {
        return slots;
    }

    String id() {
        return rules().id();
    }

    /** How many keys are in use, or 1 for a queue without key. */
    long size() {
        return hot.size() + cold.size();
    }

    /** Records how many requests wait in a bucket, and since when. */
    void rank(LeakyBucketQueue bucket) {
        if (bucket.id().isKeyed()) {
            longest.update(bucket.id(), bucket.waiting(), bucket.oldestEnqueuedAtMs());
        }
    }

    QueueState state() {
        return new QueueState(rules(), cold.epoch());
    }

    long coldDueNanos() {
        return coldDueNanos;
    }

    void noteColdDue() {
        coldDueNanos = cold.dueNanos();
    }

    /** Whether some buckets have not taken over the rules, or the time, yet. */
    boolean hasBehind() {
        return !behind.isEmpty() || cold.hasStale();
    }

    /**
     * Puts rules in force; buckets take them over one by one.
     *
     * @param current null if the queue was deleted
     * @return whether they are others than before
     */
    boolean apply(QueueRules current) {
        isDeleted = current == null;
        if (current == null || current == rules()) {
            return false;
        }
        QueueRules before = rules();
        if (current.equals(before)) {
            rules = new PacedRules(current, rules.pacing());
            return false;
        }
        setRules(PacedRules.of(current));
        if (!current.hasPaceOf(before)) {
            behind.addAll(hot.values());
            cold.startOver();
        }
        return true;
    }

    private void setRules(PacedRules newRules) {
        rules = newRules;
        if (rules().total() == null) {
            slots = null;
        } else if (slots == null) {
            slots = new QueueSlots(rules(), messenger.partition(), messenger.expectedDelayMs());
        } else {
            slots.setRules(rules());
        }
    }

    /** Lets a bucket take over the rules. */
    void update(LeakyBucketQueue bucket, long nowNanos) {
        bucket.setRules(rules, nowNanos);
        if (isDeleted) {
            bucket.delete();
        }
    }

    /** Sets the time of the cold buckets back, when they are next read; returns whether there are any. */
    boolean stepBack(long nowNanos) {
        if (cold.size() == 0) {
            return false;
        }
        cold.startOver();
        steppedBackEpoch = cold.epoch();
        steppedBackToNanos = nowNanos;
        return true;
    }

    /** Sets the time of a bucket back that was read from its state, if it was put away before that was done for all. */
    void stepBack(LeakyBucketQueue bucket, BucketState state) {
        if (!state.timers().isEmpty() && state.timers().get(0).epoch() < steppedBackEpoch) {
            bucket.stepBack(steppedBackToNanos);
        }
    }
}
