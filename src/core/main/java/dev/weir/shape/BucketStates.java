package dev.weir.shape;

import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.timer.TimerKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The stored states of buckets, as they will be when the effects of the current operation have been carried out. A
 * bucket that was used is stored once, at the end of the operation, if its state changed.
 */
final class BucketStates {

    private final Shaper.Tables tables;
    private final EffectLog effects;
    private final Map<BucketId, BucketState> pending = new HashMap<>(); // null if it is deleted
    private final List<LeakyBucketQueue> used = new ArrayList<>(); // some may be listed more than once, or have left

    BucketStates(Shaper.Tables tables, EffectLog effects) {
        this.tables = tables;
        this.effects = effects;
    }

    /** Returns the state of a bucket with a key that is not on the heap; null if there is none. */
    BucketState load(BucketId id) {
        return pending.containsKey(id) ? pending.get(id) : tables.load(id);
    }

    /** Stores a bucket at the end of the operation, unless it is unloaded or deleted before. */
    void markUsed(LeakyBucketQueue bucket) {
        used.add(bucket);
    }

    /** Stores a bucket that leaves the heap. */
    void unload(LeakyBucketQueue bucket, List<TimerKey> timers) {
        store(bucket, bucket.state().withTimers(timers));
    }

    void delete(LeakyBucketQueue bucket) {
        store(bucket, null);
    }

    private void store(LeakyBucketQueue bucket, BucketState state) {
        bucket.testAndClearChanged(); // so that it is not stored again
        pending.put(bucket.id(), state);
        effects.add(new QueueEffect.BucketStored(bucket.id(), state));
    }

    /** Ends the operation. */
    void storeUsed() {
        for (LeakyBucketQueue bucket : used) {
            if (bucket.testAndClearChanged()) {
                effects.add(new QueueEffect.BucketStored(bucket.id(), bucket.state()));
            }
        }
        used.clear();
        pending.clear();
    }
}
