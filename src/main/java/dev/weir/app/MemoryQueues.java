package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.MemoryTable;
import dev.weir.policy.Table;
import dev.weir.shape.BucketId;
import dev.weir.shape.BucketState;
import dev.weir.shape.Outflow;
import dev.weir.shape.QueueState;
import dev.weir.shape.QueueStore;
import dev.weir.shape.Shaper;
import dev.weir.shape.TimerKey;

/** Queues on the heap, for the backtest: they end with it. */
final class MemoryQueues implements Shaper.Stores {

    /** More than there can be: none has to be put away. */
    static final int HOT_KEYS = Integer.MAX_VALUE;

    private final FirstAnswers firstAnswers;

    MemoryQueues(WeirConfig.State config) {
        firstAnswers = FirstAnswers.inMemory(
                config.maxRemembered(), config.forgetAfter().toMillis());
    }

    @Override
    public QueueStore of(BucketId bucket) {
        return new QueueStore(new MemoryTable<>(), new MemoryTable<>(), new MemoryTable<>());
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
    public Table<TimerKey, BucketId> timers() {
        return new MemoryTable<>();
    }

    @Override
    public void delete(BucketId bucket) {}

    @Override
    public void saveLedger(String queue, Outflow slotsGiven) {}

    @Override
    public void deleteLedger(String queue) {}

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }
}
