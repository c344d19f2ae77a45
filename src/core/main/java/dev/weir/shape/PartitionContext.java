package dev.weir.shape;

import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.rules.BucketId;

/**
 * What the queues of a partition share.
 *
 * @param tables where the requests and timers are
 * @param states where the states of buckets are
 * @param effects receives the effects of the current operation
 * @param hotTimers when the hot buckets of all queues are due
 * @param messaging how this partition exchanges messages with others
 * @param orders the commands of operators that are in effect
 */
record PartitionContext(
        Shaper.Tables tables,
        BucketStates states,
        EffectLog effects,
        HotTimers hotTimers,
        Shaper.Messaging messaging,
        OperatorOrders orders) {

    /** Returns a bucket with this state whose requests are in the tables. */
    LeakyBucketQueue restored(BucketState state, PacedQueueRules rules, QueueBacklog backlog) {
        return LeakyBucketQueue.restored(
                state, rules, requests -> tables.readWaiting(state.id(), requests), surroundings(state.id(), backlog));
    }

    /** Returns a bucket in which nothing waits. */
    LeakyBucketQueue fresh(BucketId id, PacedQueueRules rules, QueueBacklog backlog, long nowNanos) {
        return LeakyBucketQueue.fresh(id, rules, nowNanos, surroundings(id, backlog));
    }

    private LeakyBucketQueue.Surroundings surroundings(BucketId id, QueueBacklog backlog) {
        return new LeakyBucketQueue.Surroundings(tables.of(id), backlog, effects);
    }
}
