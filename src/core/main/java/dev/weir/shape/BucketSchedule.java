package dev.weir.shape;

import dev.weir.shape.timer.TimerQueue;
import dev.weir.time.DueTime;
import java.util.Comparator;
import java.util.TreeSet;

/**
 * The buckets on the heap, of all queues of a partition: how many, the one that is due first, and the one due last
 * among those that can be unloaded. Each call takes O(log n). Unlike {@link TimerQueue}, it creates no objects besides
 * the nodes of its trees, since there is a timer for each key on the heap.
 */
final class BucketSchedule {

    private static final Comparator<LeakyBucketQueue> SOONEST_FIRST = (a, b) -> {
        int byTime = Long.compare(a.scheduledNanos(), b.scheduledNanos());
        return byTime != 0 ? byTime : Long.compare(a.scheduleOrder(), b.scheduleOrder());
    };

    private final TreeSet<LeakyBucketQueue> soonestFirst = new TreeSet<>(SOONEST_FIRST);
    private final TreeSet<LeakyBucketQueue> unloadable = new TreeSet<>(SOONEST_FIRST);
    private long nextOrder;
    private long keys;

    /** Adds a bucket without a schedule. */
    void add(LeakyBucketQueue bucket) {
        keys += bucket.id().isKeyed() ? 1 : 0;
    }

    /** Removes a bucket and its schedule. */
    void remove(LeakyBucketQueue bucket) {
        keys -= bucket.id().isKeyed() ? 1 : 0;
        unschedule(bucket);
    }

    /**
     * Schedules a bucket, replacing its earlier schedule.
     *
     * @param nanos when it is due; {@link DueTime#NEVER} if it has nothing to do
     * @param mayCool whether the bucket can be unloaded
     */
    void schedule(LeakyBucketQueue bucket, long nanos, boolean mayCool) {
        unschedule(bucket);
        if (nanos == DueTime.NEVER) {
            return;
        }
        bucket.scheduleAt(nanos, nextOrder++);
        soonestFirst.add(bucket);
        if (mayCool) {
            unloadable.add(bucket);
        }
    }

    private void unschedule(LeakyBucketQueue bucket) {
        soonestFirst.remove(bucket);
        unloadable.remove(bucket);
    }

    /** Returns how many buckets with a key are on the heap. */
    long keys() {
        return keys;
    }

    /** Returns when the first bucket is due; {@link DueTime#NEVER} if none is scheduled. */
    long dueNanos() {
        return soonestFirst.isEmpty() ? DueTime.NEVER : soonestFirst.first().scheduledNanos();
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
