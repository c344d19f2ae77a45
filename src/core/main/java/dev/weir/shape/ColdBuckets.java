package dev.weir.shape;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.timer.TimingWheel;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * The timers of the cold buckets of a queue, that is, of those that are not on the heap.
 *
 * <p>In a queue with a total, a cold bucket can contend. Then it has up to two timers. The first is in a wheel for the tier of its first request, at the time at which its own pace permits the
 * release. The second is at the time of the next expiry, if one of its requests expires.
 */
final class ColdBuckets {

    private final String queue;
    private final KeyValueTable<TimerKey, BucketId> timers;
    private final Function<BucketId, BucketState> states;
    private final TimingWheel due;
    private final Map<String, TimingWheel> contending = new TreeMap<>(); // by tier
    private final Set<String> changedTiers = new TreeSet<>(); // tiers whose buckets have to be counted again
    private long size;
    private long steppedBackToNanos;
    private long steppedBackEpoch; // states of earlier epochs were written before time was set back

    /**
     * @param epoch see {@link QueueState#epoch}
     * @param states returns the state of a bucket that is cold, null for others
     */
    ColdBuckets(
            String queue,
            KeyValueTable<TimerKey, BucketId> timers,
            long epoch,
            Function<BucketId, BucketState> states) {
        this.queue = queue;
        this.timers = timers;
        this.states = states;
        due = new TimingWheel(queue, null, timers, epoch);
    }

    /** Restores a cold bucket whose timers are in the table. */
    void restore(BucketState state) {
        size++;
        for (TimerKey timer : state.timers()) {
            wheel(timer).restore(timer);
            noteChange(timer);
        }
    }

    /** Adds a bucket that does not contend, and returns its timer. */
    List<TimerKey> add(BucketId bucket, long dueNanos, long nowNanos) {
        size++;
        return List.of(due.add(bucket, dueNanos, nowNanos));
    }

    /** Adds a bucket that contends in a tier, and returns its timers. */
    List<TimerKey> addContending(BucketId bucket, String tier, long turnNanos, long expiryNanos, long nowNanos) {
        size++;
        changedTiers.add(tier);
        List<TimerKey> added = new ArrayList<>(2);
        added.add(contending(tier).add(bucket, turnNanos, nowNanos));
        if (expiryNanos < DueTime.NEVER) {
            added.add(due.add(bucket, expiryNanos, nowNanos));
        }
        return added;
    }

    /** Removes a bucket with its timers, and returns its state; null if there is no such bucket. */
    BucketState take(BucketId bucket) {
        BucketState state = states.apply(bucket);
        if (state != null) {
            size--;
            for (TimerKey timer : state.timers()) {
                wheel(timer).remove(timer);
                noteChange(timer);
            }
        }
        return state;
    }

    private void noteChange(TimerKey timer) {
        if (timer.tier() != null) {
            changedTiers.add(timer.tier());
        }
    }

    /** Passes on the number of buckets that contend in each tier in which it may have changed since the last call. */
    void takeChangedCounts(Contention counts) {
        for (String tier : changedTiers) {
            TimingWheel wheel = contending.get(tier);
            long number = wheel == null ? 0 : wheel.size();
            counts.setColdCount(tier, number);
            if (number == 0) {
                contending.remove(tier);
            }
        }
        changedTiers.clear();
    }

    private TimingWheel wheel(TimerKey timer) {
        return timer.tier() == null ? due : contending(timer.tier());
    }

    private TimingWheel contending(String tier) {
        return contending.computeIfAbsent(tier, name -> new TimingWheel(queue, name, timers, due.epoch()));
    }

    long size() {
        return size;
    }

    /** Returns the tiers in which buckets contend. */
    List<String> tiers() {
        return List.copyOf(contending.keySet());
    }

    /** Returns a time before which no bucket is due; {@link DueTime#NEVER} if there are none. */
    long dueNanos() {
        return due.dueNanos();
    }

    /** {@linkplain #take Takes} a bucket that may be due; null if the budget is spent before one is found. */
    BucketState takeDue(WorkBudget budget) {
        return takeNext(due, DueTime.NEVER, budget);
    }

    /**
     * {@linkplain #take Takes} a bucket that contends in a tier and may have its turn before a time, to the precision of
     * its timer; null if there is none, or if the budget is spent before it is found.
     */
    BucketState takeContending(String tier, long untilNanos, WorkBudget budget) {
        TimingWheel wheel = contending.get(tier);
        return wheel == null ? null : takeNext(wheel, untilNanos, budget);
    }

    private BucketState takeNext(TimingWheel wheel, long untilNanos, WorkBudget budget) {
        BucketState taken = null;
        BucketId next = next(wheel, untilNanos, budget);
        while (next != null && taken == null) {
            taken = take(next);
            // without exactly-once, a crash can leave a timer of a bucket that is hot
            next = taken == null ? next(wheel, untilNanos, budget) : null;
        }
        return taken;
    }

    private static BucketId next(TimingWheel wheel, long untilNanos, WorkBudget budget) {
        return wheel.firstEndNanos() > untilNanos ? null : wheel.next(budget);
    }

    /** Returns the current epoch; see {@link QueueState#epoch}. */
    long epoch() {
        return due.epoch();
    }

    /** Makes all timers stale, because the due times of all buckets change. */
    void startNewEpoch() {
        due.startNewEpoch();
        contending.values().forEach(TimingWheel::startNewEpoch);
    }

    /** Returns whether some timers are stale. */
    boolean hasStale() {
        return staleWheel() != null;
    }

    /** {@linkplain #take Takes} a bucket whose timer is stale; null if the budget is spent before one is found. */
    BucketState takeStale(WorkBudget budget) {
        BucketState taken = null;
        for (TimingWheel wheel = staleWheel(); wheel != null && taken == null; wheel = staleWheel()) {
            BucketId next = wheel.nextStale(budget);
            if (next == null) {
                return null;
            }
            taken = take(next);
        }
        return taken;
    }

    private TimingWheel staleWheel() {
        if (due.hasStale()) {
            return due;
        }
        for (TimingWheel wheel : contending.values()) {
            if (wheel.hasStale()) {
                return wheel;
            }
        }
        return null;
    }

    /** Sets the time of the buckets back when they are next loaded. Returns whether there are any. */
    boolean stepBack(long nowNanos) {
        if (size == 0) {
            return false;
        }
        startNewEpoch();
        steppedBackEpoch = epoch();
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
