package dev.weir.shape.backlog;

import dev.weir.limit.Limit;

/**
 * What the keys of a queue may do together.
 *
 * @param limit how many tokens leave in {@code perMs} at most, 1 to 2<sup>61</sup>
 * @param perMs 1 ms to 30 days
 * @param capacity how many requests may wait, 1 to {@link QueueRules#MAX_CAPACITY}
 */
public record QueueTotal(long limit, long perMs, long capacity) {

    public static final long DEFAULT_CAPACITY = 100_000;

    /** @throws IllegalArgumentException if a part is out of its range; the message begins with the part's name */
    public QueueTotal {
        if (capacity < 1 || capacity > QueueRules.MAX_CAPACITY) {
            throw new IllegalArgumentException(
                    "total.capacity must be 1 to " + QueueRules.MAX_CAPACITY + ", is " + capacity);
        }
        if (limit < 1 || limit > Limit.MAX_LEVEL) {
            throw new IllegalArgumentException("total.limit must be 1 to " + Limit.MAX_LEVEL + ", is " + limit);
        }
        pacing(limit, perMs);
    }

    /** When slots follow each other. */
    Pacing pacing() {
        return pacing(limit, perMs);
    }

    /** How long so many tokens take, rounded up. */
    public long drainMs(long tokens) {
        long nanos = pacing().after(new Pacing.Arrival(0, 0), tokens).ceilNanos();
        return -Math.floorDiv(-nanos, 1_000_000);
    }

    private static Pacing pacing(long limit, long perMs) {
        return Pacing.of(limit, perMs, 1);
    }
}
