package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.MemoryTable;
import dev.weir.shape.BucketId;
import dev.weir.shape.BucketState;
import dev.weir.shape.QueueStore;
import dev.weir.shape.Shaper;

/** Queues on the heap, for the backtest: they end with it. */
final class MemoryQueues implements Shaper.Stores {

    private final FirstAnswers firstAnswers;

    MemoryQueues(WeirConfig.State config) {
        firstAnswers = FirstAnswers.inMemory(
                config.maxRemembered(), config.forgetAfter().toMillis());
    }

    @Override
    public QueueStore of(BucketId bucket) {
        return new QueueStore(new MemoryTable<>(), new MemoryTable<>(), new MemoryTable<>());
    }

    @Override
    public void save(BucketState state) {}

    @Override
    public void delete(BucketId bucket) {}

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }
}
