package dev.weir.shape;

/**
 * Where a cold bucket is noted, see {@link TimingWheel}.
 *
 * @param queue the bucket's queue
 * @param tier of the buckets in a wheel of those that contend for the queue's total, see {@link QueueBuckets}; null in
 *     the wheel of those that are due
 * @param epoch counts the changes of the queue that moved the due times of its buckets
 * @param startNanos when the slot begins, 0 or more
 * @param widthBits the width of the slot is two to this power, in ns
 * @param index counts the entries of the slot
 */
public record TimerKey(String queue, String tier, long epoch, long startNanos, int widthBits, long index) {}
