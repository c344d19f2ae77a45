package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.decision.HeapTable;
import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.KeyValueTable;
import dev.weir.shape.BucketState;
import dev.weir.shape.QueueState;
import dev.weir.shape.Shaper;
import dev.weir.shape.TimerKey;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueStore;
import dev.weir.shape.total.OutflowState;

/** Queues on the heap, for the backtest: they end with it. */
public final class HeapQueues implements Shaper.Stores {

    /** More than there can be: none has to be put away. */
    public static final int HOT_KEYS = Integer.MAX_VALUE;

    private final IdempotencyCache firstAnswers;

    public HeapQueues(WeirConfig.State config) {
        firstAnswers = IdempotencyCache.inMemory(
                config.maxIdempotencyKeys(), config.retention().toMillis());
    }

    @Override
    public QueueStore of(BucketId bucket) {
        return new QueueStore(new HeapTable<>(), new HeapTable<>(), new HeapTable<>());
    }

    /** All stay on the heap. */
    @Override
    public BucketState load(BucketId bucket) {
        return null;
    }

    @Override
    public void save(BucketState state) {}

    @Override
    public void save(QueueState state) {}

    @Override
    public KeyValueTable<TimerKey, BucketId> timers() {
        return new HeapTable<>();
    }

    @Override
    public void delete(BucketId bucket) {}

    @Override
    public void saveLedger(String queue, OutflowState slotsGiven) {}

    @Override
    public void deleteLedger(String queue) {}

    @Override
    public IdempotencyCache firstAnswers() {
        return firstAnswers;
    }
}
