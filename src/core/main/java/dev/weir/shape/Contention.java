package dev.weir.shape;

import dev.weir.shape.rules.BucketId;
import dev.weir.time.DueTime;

/** How the buckets of a queue contend with each other for releases. */
sealed interface Contention permits Contention.None, PartitionTotal {

    /** Returns the contention of a queue without a total: each bucket releases at its own pace. */
    static Contention none() {
        return None.INSTANCE;
    }

    /** Has a bucket contend if its turn is near, for its first request, and not otherwise. */
    void contend(LeakyBucketQueue bucket);

    /** Returns when a bucket has something to do by itself, or starts to contend; {@link DueTime#NEVER} if nothing. */
    long dueNanos(LeakyBucketQueue bucket);

    /** Has a bucket not contend. */
    void remove(BucketId bucket);

    /** Returns the tier in which a bucket contends; null if it does not contend. */
    String tier(BucketId bucket);

    /**
     * Returns when the first contending bucket of a tier on the heap may release by its own pace; {@link DueTime#NEVER} if
     * there is none.
     */
    long firstNanos(String tier);

    /** Records how many buckets of a tier contend that are not on the heap. */
    void setColdCount(String tier, long number);

    /** Buckets do not contend. */
    enum None implements Contention {
        INSTANCE;

        @Override
        public void contend(LeakyBucketQueue bucket) {}

        @Override
        public long dueNanos(LeakyBucketQueue bucket) {
            return bucket.dueNanos();
        }

        @Override
        public void remove(BucketId bucket) {}

        @Override
        public String tier(BucketId bucket) {
            return null;
        }

        @Override
        public long firstNanos(String tier) {
            return DueTime.NEVER;
        }

        @Override
        public void setColdCount(String tier, long number) {}
    }
}
