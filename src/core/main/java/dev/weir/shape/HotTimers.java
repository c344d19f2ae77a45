package dev.weir.shape;

import dev.weir.shape.total.TimerQueue;
import java.util.Comparator;
import java.util.TreeSet;

/**
 * When the buckets on the heap are due: which is first, and which of those that can be put away is last. Unlike {@link
 * TimerQueue}, it adds no objects of its own to those of the trees, since there is one for each key on the heap.
 */
final class HotTimers {

    private static final Comparator<LeakyBucketQueue> SOONEST_FIRST = Comparator.comparingLong(
                    LeakyBucketQueue::scheduledNanos)
            .thenComparingLong(LeakyBucketQueue::scheduleOrder);

    private final TreeSet<LeakyBucketQueue> soonestFirst = new TreeSet<>(SOONEST_FIRST);
    private final TreeSet<LeakyBucketQueue> unloadable = new TreeSet<>(SOONEST_FIRST);
    private long nextOrder;

    /**
     * Plans a bucket, in place of when it was planned before.
     *
     * @param mayCool whether it can be put away
     */
    void schedule(LeakyBucketQueue bucket, long nanos, boolean mayCool) {
        cancel(bucket);
        bucket.scheduleAt(nanos, nextOrder++);
        soonestFirst.add(bucket);
        if (mayCool) {
            unloadable.add(bucket);
        }
    }

    /** Does nothing if the bucket is not planned. */
    void cancel(LeakyBucketQueue bucket) {
        soonestFirst.remove(bucket);
        unloadable.remove(bucket);
    }

    /** When the first bucket is due; {@link Long#MAX_VALUE} if none is planned. */
    long dueNanos() {
        return soonestFirst.isEmpty() ? Long.MAX_VALUE : soonestFirst.first().scheduledNanos();
    }

    /** The bucket that is due first; there must be one. */
    LeakyBucketQueue first() {
        return soonestFirst.first();
    }

    /** Of the buckets that can be put away, the one that is due last; null if there is none. */
    LeakyBucketQueue lastUnloadable() {
        return unloadable.isEmpty() ? null : unloadable.last();
    }
}
