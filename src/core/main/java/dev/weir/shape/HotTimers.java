package dev.weir.shape;

import dev.weir.shape.total.TimerQueue;
import java.util.Comparator;
import java.util.TreeSet;

/**
 * The due times of the buckets on the heap: the bucket that is due first, and the one due last among those that can be
 * unloaded. Each call takes O(log n). Unlike {@link TimerQueue}, it creates no objects besides the nodes of its trees,
 * since there is a timer for each key on the heap.
 */
final class HotTimers {

    private static final Comparator<LeakyBucketQueue> SOONEST_FIRST = Comparator.comparingLong(
                    LeakyBucketQueue::scheduledNanos)
            .thenComparingLong(LeakyBucketQueue::scheduleOrder);

    private final TreeSet<LeakyBucketQueue> soonestFirst = new TreeSet<>(SOONEST_FIRST);
    private final TreeSet<LeakyBucketQueue> unloadable = new TreeSet<>(SOONEST_FIRST);
    private long nextOrder;

    /**
     * Schedules a bucket, replacing its earlier schedule.
     *
     * @param mayCool whether the bucket can be unloaded
     */
    void schedule(LeakyBucketQueue bucket, long nanos, boolean mayCool) {
        cancel(bucket);
        bucket.scheduleAt(nanos, nextOrder++);
        soonestFirst.add(bucket);
        if (mayCool) {
            unloadable.add(bucket);
        }
    }

    /** Cancels the schedule of a bucket, if there is one. */
    void cancel(LeakyBucketQueue bucket) {
        soonestFirst.remove(bucket);
        unloadable.remove(bucket);
    }

    /** Returns when the first bucket is due; {@link Long#MAX_VALUE} if none is scheduled. */
    long dueNanos() {
        return soonestFirst.isEmpty() ? Long.MAX_VALUE : soonestFirst.first().scheduledNanos();
    }

    /** Returns the bucket that is due first. There must be one. */
    LeakyBucketQueue first() {
        return soonestFirst.first();
    }

    /** Returns the bucket that is due last among those that can be unloaded; null if there is none. */
    LeakyBucketQueue lastUnloadable() {
        return unloadable.isEmpty() ? null : unloadable.last();
    }
}
