package dev.weir.shape;

import dev.weir.decision.KeyValueTable;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.total.SlotMessenger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongConsumer;

/**
 * The buckets of one queue on this partition: the hot ones, and the due times of the cold ones.
 *
 * <p>In a queue with a total, a cold bucket can contend for a slot. Then it has two timers: one in a wheel for the tier
 * of its first request, at the time at which its own pace permits the release; and, if one of its requests expires, one
 * at the time of that expiry.
 */
final class QueueBuckets {

    final Map<BucketId, LeakyBucketQueue> hot = new LinkedHashMap<>();
    final TimingWheel cold;
    private final Map<String, TimingWheel> contending = new TreeMap<>(); // cold buckets that contend, by tier
    private final Set<String> changedTiers = new TreeSet<>(); // tiers whose cold buckets have to be counted again
    private long coldBuckets;
    final QueueBacklog backlog;
    final LongestKeys longest = new LongestKeys();

    /** Hot buckets that have not adopted the current rules. */
    final Deque<LeakyBucketQueue> outdated = new ArrayDeque<>();

    private final KeyValueTable<TimerKey, BucketId> timers;
    private final SlotMessenger messenger;
    private PacedQueueRules rules;
    private PartitionSlots slots; // null if the queue has no total
    private boolean isDraining;
    private long coldDueNanos = Long.MAX_VALUE; // the sort key of this queue among all
    private long steppedBackToNanos;
    private long steppedBackEpoch; // states of cold buckets of earlier epochs were written before time was set back

    /** @param waiting receives each change of the number of waiting requests, negative if it falls */
    QueueBuckets(QueueState state, Shaper.Stores stores, SlotMessenger messenger, LongConsumer waiting) {
        this.messenger = messenger;
        timers = stores.timers();
        setRules(PacedQueueRules.of(state.rules()));
        cold = new TimingWheel(state.rules().id(), null, timers, state.epoch());
        backlog = new QueueBacklog(waiting);
    }

    /** Returns the rules in force, or the last ones. */
    QueueRules rules() {
        return rules.rules();
    }

    PacedQueueRules pacedRules() {
        return rules;
    }

    /** Returns the partition's part in the total of the queue; null if it has no total. */
    PartitionSlots slots() {
        return slots;
    }

    String id() {
        return rules().id();
    }

    /** Returns the number of keys in use; 1 for a queue without key. */
    long size() {
        return hot.size() + coldBuckets;
    }

    /** Returns whether the queue was to drain when rules were last {@linkplain #apply applied}. */
    boolean isDraining() {
        return isDraining;
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

    /** Returns whether a bucket can be removed: a new one would behave the same, except that it counts from 1. */
    boolean isRemovable(LeakyBucketQueue bucket) {
        return (bucket.id().isKeyed() || isDraining) && bucket.isIdle(bucket.nowNanos());
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
    LeakyBucketQueue only() {
        return rules().isKeyed() || hot.isEmpty()
                ? null
                : hot.values().iterator().next();
    }

    /** Records how many requests wait in a bucket, and since when. */
    void recordWaiting(LeakyBucketQueue bucket) {
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

    void updateColdDue() {
        coldDueNanos = cold.dueNanos();
    }

    /** Returns whether some buckets have not adopted the current rules, or a step of the time. */
    boolean hasOutdated() {
        return !outdated.isEmpty() || hasStale();
    }

    /** Returns whether some cold buckets have not adopted the current rules, or a step of the time. */
    boolean hasStale() {
        return staleWheel() != null;
    }

    /** Returns one of these cold buckets; null if the budget is spent before one is found. */
    BucketId nextStale(WorkBudget budget) {
        return staleWheel().nextStale(budget);
    }

    private TimingWheel staleWheel() {
        if (cold.hasStale()) {
            return cold;
        }
        for (TimingWheel wheel : contending.values()) {
            if (wheel.hasStale()) {
                return wheel;
            }
        }
        return null;
    }

    /** Sets the timers of a bucket that is unloaded, and returns their keys. */
    List<TimerKey> addCold(LeakyBucketQueue bucket, long nowNanos) {
        coldBuckets++;
        String tier = slots == null ? null : slots.contendingTier(bucket.id());
        if (tier == null) {
            return List.of(cold.add(bucket.id(), bucket.scheduledNanos(), nowNanos));
        }
        List<TimerKey> added = new ArrayList<>(2);
        added.add(contending(tier).add(bucket.id(), bucket.headTurnNanos(), nowNanos));
        if (bucket.nextExpiryNanos() < Long.MAX_VALUE) {
            added.add(cold.add(bucket.id(), bucket.nextExpiryNanos(), nowNanos));
        }
        slots.setColdCount(tier, contending.get(tier).size());
        slots.remove(bucket.id());
        return added;
    }

    void restoreCold(BucketState state) {
        coldBuckets++;
        for (TimerKey timer : state.timers()) {
            wheel(timer).restore(timer);
            if (timer.tier() != null) {
                changedTiers.add(timer.tier());
            }
        }
    }

    /**
     * Removes the timers of a cold bucket that was loaded. {@link #countCold} must follow once the bucket is scheduled
     * among the hot ones.
     */
    void removeCold(BucketState state) {
        coldBuckets--;
        for (TimerKey timer : state.timers()) {
            wheel(timer).remove(timer);
            if (timer.tier() != null) {
                changedTiers.add(timer.tier());
            }
        }
    }

    /** Updates the numbers of cold buckets that contend in the tiers that changed. */
    void countCold() {
        for (String tier : changedTiers) {
            TimingWheel wheel = contending.get(tier);
            long size = wheel == null ? 0 : wheel.size();
            if (slots != null) {
                slots.setColdCount(tier, size);
            }
            if (size == 0) {
                contending.remove(tier);
            }
        }
        changedTiers.clear();
    }

    private TimingWheel wheel(TimerKey timer) {
        return timer.tier() == null ? cold : contending(timer.tier());
    }

    private TimingWheel contending(String tier) {
        return contending.computeIfAbsent(tier, name -> new TimingWheel(id(), name, timers, cold.epoch()));
    }

    /** Returns the tiers in which cold buckets contend. */
    List<String> coldTiers() {
        return List.copyOf(contending.keySet());
    }

    /**
     * Returns a cold bucket that may contend in a tier before all hot ones, to the precision of its timer; null if
     * there is none, or if the budget is spent before it is found.
     */
    BucketId nextContending(String tier, WorkBudget budget) {
        TimingWheel wheel = contending.get(tier);
        return wheel == null || slots == null || wheel.firstEndNanos() > slots.firstNanos(tier)
                ? null
                : wheel.next(budget);
    }

    /** Returns a cold bucket that contends in a tier; null if there is none, or if the budget is spent. */
    BucketId anyContending(String tier, WorkBudget budget) {
        TimingWheel wheel = contending.get(tier);
        return wheel == null ? null : wheel.next(budget);
    }

    /**
     * Puts rules in force. Buckets adopt them one by one. If they {@linkplain #canAdopt cannot}, the last rules stay.
     *
     * @param current null if the queue was deleted
     * @return whether the rules changed
     */
    boolean apply(QueueRules current) {
        isDraining = !canAdopt(current);
        if (isDraining || current == rules()) {
            return false;
        }
        QueueRules before = rules();
        if (current.equals(before)) {
            rules = new PacedQueueRules(current, rules.pacing());
            return false;
        }
        setRules(PacedQueueRules.of(current));
        if (!current.hasSamePaceAs(before)) {
            outdated.addAll(hot.values());
            startNewEpoch();
        }
        return true;
    }

    private void startNewEpoch() {
        cold.startNewEpoch();
        contending.values().forEach(TimingWheel::startNewEpoch);
    }

    private void setRules(PacedQueueRules newRules) {
        rules = newRules;
        if (rules().total() == null) {
            slots = null;
        } else if (slots == null) {
            slots = new PartitionSlots(rules(), messenger.partition(), messenger.expectedDelayMs());
        } else {
            slots.setRules(rules());
        }
    }

    /** Makes a bucket adopt the current rules. */
    void update(LeakyBucketQueue bucket, long nowNanos) {
        bucket.setRules(rules, nowNanos);
        if (isDraining) {
            bucket.delete();
        }
    }

    /** Sets the time of the cold buckets back when they are next loaded. Returns whether there are any. */
    boolean stepBack(long nowNanos) {
        if (coldBuckets == 0) {
            return false;
        }
        startNewEpoch();
        steppedBackEpoch = cold.epoch();
        steppedBackToNanos = nowNanos;
        return true;
    }

    /** Sets the time of a loaded bucket back, if its state was written before the time of all buckets was set back. */
    void stepBack(LeakyBucketQueue bucket, BucketState state) {
        if (!state.timers().isEmpty() && state.timers().get(0).epoch() < steppedBackEpoch) {
            bucket.stepBack(steppedBackToNanos);
        }
    }
}
