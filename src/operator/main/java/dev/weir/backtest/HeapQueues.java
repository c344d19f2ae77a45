package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.HeapTable;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.store.HeapSchedule;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.timer.TimerKey;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Queues on the heap, for a backtest. */
public final class HeapQueues implements Shaper.Tables {

    /** Unlimited: all keys stay on the heap. */
    public static final int HOT_KEYS = Integer.MAX_VALUE;

    private final IdempotencyCache idempotencyCache;

    public HeapQueues(WeirConfig.State config) {
        idempotencyCache = IdempotencyCache.inMemory(
                config.most().idempotencyKeys(), config.retention().toMillis());
    }

    @Override
    public QueueStore of(BucketId bucket) {
        return new QueueStore(
                new HeapTable<>(), new HeapTable<>(), new HeapTable<>(), new HeapSchedule(), new HeapTable<>());
    }

    /** Returns null, because all buckets stay on the heap. */
    @Override
    public BucketState load(BucketId bucket) {
        return null;
    }

    @Override
    public KeyValueTable<TimerKey, BucketId> timers() {
        return new HeapTable<>();
    }

    @Override
    public IdempotencyCache idempotencyCache() {
        return idempotencyCache;
    }

    @Override
    public void readStates(Consumer<QueueEffect.StateStored> states) {}

    @Override
    public void readWaiting(BucketId bucket, BiConsumer<QueueStore.Place, QueueEntry> requests) {}
}
