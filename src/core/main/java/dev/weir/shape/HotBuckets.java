package dev.weir.shape;

import dev.weir.shape.rules.BucketId;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The hot buckets of a queue, that is, those on the heap. Each has a timer, unless it has nothing to do. */
final class HotBuckets {

    private final HotTimers timers;
    private final Map<BucketId, LeakyBucketQueue> byId = new LinkedHashMap<>();
    private final Set<LeakyBucketQueue> stale = new LinkedHashSet<>();
    private final Set<BucketId> purging = new HashSet<>(); // those in which requests wait that are to be purged

    /** @param timers those of all queues of the partition */
    HotBuckets(HotTimers timers) {
        this.timers = timers;
    }

    /** Returns a bucket; null if it is not hot. */
    LeakyBucketQueue get(BucketId id) {
        return byId.get(id);
    }

    /** Returns all buckets, in the order in which they were added. */
    List<LeakyBucketQueue> all() {
        return List.copyOf(byId.values());
    }

    /** Returns the bucket that was added first. There must be one. */
    LeakyBucketQueue first() {
        return byId.values().iterator().next();
    }

    int size() {
        return byId.size();
    }

    /** Adds a bucket without a timer. */
    void add(LeakyBucketQueue bucket) {
        byId.put(bucket.id(), bucket);
        timers.add(bucket);
    }

    /** Removes a bucket and its timer. */
    void remove(LeakyBucketQueue bucket) {
        byId.remove(bucket.id());
        stale.remove(bucket);
        purging.remove(bucket.id());
        timers.remove(bucket);
    }

    /**
     * Sets the timer of a bucket after it has run.
     *
     * @param nanos when it is due
     * @param isPurging whether requests wait in it that are to be purged
     * @param mayCool whether it can be unloaded
     */
    void setTimer(LeakyBucketQueue bucket, long nanos, boolean isPurging, boolean mayCool) {
        if (isPurging) {
            purging.add(bucket.id());
        } else if (!purging.isEmpty()) {
            purging.remove(bucket.id());
        }
        timers.set(bucket, nanos, mayCool);
    }

    /** Returns in how many buckets requests wait that are to be purged. */
    int purging() {
        return purging.size();
    }

    /** Returns whether requests wait in a bucket that are to be purged. */
    boolean isPurging(BucketId id) {
        return purging.contains(id);
    }

    /** Makes a bucket stale: it must run. */
    void makeStale(LeakyBucketQueue bucket) {
        stale.add(bucket);
    }

    /** Makes all buckets stale. */
    void makeStale() {
        stale.addAll(byId.values());
    }

    boolean hasStale() {
        return !stale.isEmpty();
    }

    /** Returns a stale bucket, which is no longer stale. There must be one. */
    LeakyBucketQueue takeStale() {
        LeakyBucketQueue first = stale.iterator().next();
        stale.remove(first);
        return first;
    }

    /** Makes a bucket no longer stale. Returns whether it was. */
    boolean takeStale(LeakyBucketQueue bucket) {
        return stale.remove(bucket);
    }
}
