package dev.weir.shape;

import dev.weir.shape.timer.TimerQueue;
import dev.weir.time.DueTime;
import java.util.Comparator;
import java.util.TreeSet;

/**
 * The timers of the hot buckets of all queues of a partition: which bucket is due first, and which one last among those
 * that can be unloaded. It also counts the hot buckets with a key. Each call takes O(log n). Unlike {@link TimerQueue},
 * it creates no objects besides the nodes of its trees, since there is a timer for each key on the heap.
 */
final class HotTimers {

    private static final Comparator<LeakyBucketQueue> SOONEST_FIRST = (a, b) -> {
        int byTime = Long.compare(a.timerNanos(), b.timerNanos());
        return byTime != 0 ? byTime : Long.compare(a.timerOrder(), b.timerOrder());
    };

    private final TreeSet<LeakyBucketQueue> soonestFirst = new TreeSet<>(SOONEST_FIRST);
    private final TreeSet<LeakyBucketQueue> unloadable = new TreeSet<>(SOONEST_FIRST);
    private long nextOrder;
    private long keys;

    /** Adds a bucket without a timer. */
    void add(LeakyBucketQueue bucket) {
        keys += bucket.id().isKeyed() ? 1 : 0;
    }

    /** Removes a bucket and its timer. */
    void remove(LeakyBucketQueue bucket) {
        keys -= bucket.id().isKeyed() ? 1 : 0;
        cancel(bucket);
    }

    /**
     * Sets the timer of a bucket, in place of an earlier one.
     *
     * @param nanos when it is due; {@link DueTime#NEVER} if it has nothing to do
     * @param mayCool whether the bucket can be unloaded
     */
    void set(LeakyBucketQueue bucket, long nanos, boolean mayCool) {
        cancel(bucket);
        if (nanos == DueTime.NEVER) {
            return;
        }
        bucket.setTimer(nanos, nextOrder++);
        soonestFirst.add(bucket);
        if (mayCool) {
            unloadable.add(bucket);
        }
    }

    private void cancel(LeakyBucketQueue bucket) {
        soonestFirst.remove(bucket);
        unloadable.remove(bucket);
    }

    /** Returns how many buckets with a key are on the heap. */
    long keys() {
        return keys;
    }

    /** Returns when the first bucket is due; {@link DueTime#NEVER} if none has a timer. */
    long dueNanos() {
        return soonestFirst.isEmpty() ? DueTime.NEVER : soonestFirst.first().timerNanos();
    }

    /** Returns the bucket that is due first; null if none is due. */
    LeakyBucketQueue due(long nowNanos) {
        return dueNanos() > nowNanos ? null : soonestFirst.first();
    }

    /** Returns the bucket that is due last among those that can be unloaded; null if there is none. */
    LeakyBucketQueue lastUnloadable() {
        return unloadable.isEmpty() ? null : unloadable.last();
    }
}
