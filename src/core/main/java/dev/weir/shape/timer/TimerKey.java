package dev.weir.shape.timer;

/**
 * The key of a timer of a cold bucket; see {@link TimingWheel}.
 *
 * @param queue the queue of the bucket
 * @param tier the tier, in a wheel of buckets that contend for the queue's total; null in the wheel of due times
 * @param epoch counts the changes that moved the due times of the queue's buckets
 * @param startNanos the start of the interval, 0 or more
 * @param widthBits the width of the interval is two to this power, in nanoseconds
 * @param index the number of the entry in the interval
 */
public record TimerKey(String queue, String tier, long epoch, long startNanos, int widthBits, long index) {}
