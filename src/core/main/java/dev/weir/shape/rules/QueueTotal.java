package dev.weir.shape.rules;

import dev.weir.limit.Limit;

/**
 * The bounds of all keys of a queue together.
 *
 * @param limit the most tokens that leave per {@code perMs}, 1 to 2<sup>61</sup>
 * @param perMs 1 ms to 30 days
 * @param capacity the most waiting requests, 1 to {@link QueueRules#MAX_CAPACITY}
 */
public record QueueTotal(long limit, long perMs, long capacity) {

    public static final long DEFAULT_CAPACITY = 100_000;

    /** @throws IllegalArgumentException if a part is out of its range; the message starts with the part's name */
    public QueueTotal {
        if (capacity < 1 || capacity > QueueRules.MAX_CAPACITY) {
            throw new IllegalArgumentException(
                    "total.capacity must be 1 to " + QueueRules.MAX_CAPACITY + ", is " + capacity);
        }
        if (limit < 1 || limit > Limit.MAX_LEVEL) {
            throw new IllegalArgumentException("total.limit must be 1 to " + Limit.MAX_LEVEL + ", is " + limit);
        }
        new TotalRate(limit, perMs).pacing();
    }

    /** Returns the rate of the total. */
    public TotalRate rate() {
        return new TotalRate(limit, perMs);
    }

    /** Returns the pacing of the total. */
    Pacing pacing() {
        return rate().pacing();
    }

    /** Returns how long {@code tokens} tokens take, rounded up. */
    public long drainMs(long tokens) {
        long nanos = pacing().after(new Pacing.Arrival(0, 0), tokens).ceilNanos();
        return -Math.floorDiv(-nanos, 1_000_000);
    }
}
