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
 * The buckets of one queue, as far as they are on this partition: the hot ones, and when the cold ones are due.
 *
 * <p>In a queue with a total, a cold bucket may be one that contends for a slot. Then it is noted twice: in a wheel for
 * the tier of its first request, by when its own pace lets that leave; and, if something in it expires, by when it
 * does.
 */
final class QueueBuckets {

    final Map<BucketId, LeakyBucketQueue> hot = new LinkedHashMap<>();
    final TimingWheel cold;
    private final Map<String, TimingWheel> contending = new TreeMap<>(); // cold, by tier
    private final Set<String> changedTiers = new TreeSet<>(); // tiers whose wheels were changed since they were counted
    private long coldBuckets;
    final QueueBacklog backlog;
    final LongestKeys longest = new LongestKeys();

    /** Hot buckets that have not taken over the rules yet. */
    final Deque<LeakyBucketQueue> outdated = new ArrayDeque<>();

    private final KeyValueTable<TimerKey, BucketId> timers;
    private final SlotMessenger messenger;
    private PacedQueueRules rules;
    private PartitionSlots slots; // null: the queue has no total
    private boolean isDeleted;
    private long coldDueNanos = Long.MAX_VALUE; // by which the queues are ordered
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

    /** The rules in force, or the last that were. */
    QueueRules rules() {
        return rules.rules();
    }

    PacedQueueRules pacedRules() {
        return rules;
    }

    /** What it does about its total; null if it has none. */
    PartitionSlots slots() {
        return slots;
    }

    String id() {
        return rules().id();
    }

    /** How many keys are in use, or 1 for a queue without key. */
    long size() {
        return hot.size() + coldBuckets;
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

    /** Whether some buckets have not taken over the rules, or the time, yet. */
    boolean hasOutdated() {
        return !outdated.isEmpty() || hasStale();
    }

    /** Whether cold buckets have not taken over the rules, or the time, yet. */
    boolean hasStale() {
        return staleWheel() != null;
    }

    /** One of these buckets; null if the budget is spent before one is found. */
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

    /** Notes a bucket that is put away; returns where. */
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
        slots.forget(bucket.id());
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
     * Forgets a cold bucket that was read; {@link #countCold} follows once the bucket has its place among the hot ones.
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

    /** Counts the cold buckets that contend, where some were read. */
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

    /** The tiers in which cold buckets contend. */
    List<String> coldTiers() {
        return List.copyOf(contending.keySet());
    }

    /**
     * A cold bucket that contends in a tier before all hot ones do, as far as its slot of time tells; null if there is
     * none, or the budget is spent before it is found.
     */
    BucketId nextContending(String tier, WorkBudget budget) {
        TimingWheel wheel = contending.get(tier);
        return wheel == null || slots == null || wheel.firstEndNanos() > slots.firstNanos(tier)
                ? null
                : wheel.next(budget);
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

    /** Lets a bucket take over the rules. */
    void update(LeakyBucketQueue bucket, long nowNanos) {
        bucket.setRules(rules, nowNanos);
        if (isDeleted) {
            bucket.delete();
        }
    }

    /** Sets the time of the cold buckets back, when they are next read; returns whether there are any. */
    boolean stepBack(long nowNanos) {
        if (coldBuckets == 0) {
            return false;
        }
        startNewEpoch();
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
