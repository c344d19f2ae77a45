package dev.weir.shape;

/**
 * Where a cold bucket is noted, see {@link TimingWheel}.
 *
 * @param queue the bucket's queue
 * @param epoch counts the changes of the queue that moved the due times of its buckets
 * @param startNanos when the slot begins, 0 or more
 * @param widthBits the width of the slot is two to this power, in ns
 * @param index counts the entries of the slot
 */
public record TimerKey(String queue, long epoch, long startNanos, int widthBits, long index) {}
