package dev.weir.shape;

/**
 * What is kept of a bucket beside what waits in it.
 *
 * @param rules those in force, or the last that were: what waits when a queue is deleted leaves by them. All buckets of a queue have the
 *     same
 * @param outflow counted under these rules
 */
public record BucketState(BucketId id, QueueRules rules, Outflow outflow) {}
