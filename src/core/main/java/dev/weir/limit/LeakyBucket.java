package dev.weir.limit;

/**
 * Leaky bucket as a meter (ITU-T I.371): each request pours its cost in, the bucket leaks at the rate, and what would
 * spill over {@code burst} is refused. The leaky bucket as a queue is shaping, not a limit.
 *
 * @param rate how fast the bucket leaks
 * @param burst how much it holds
 */
public record LeakyBucket(Rate rate, long burst, boolean countDenied) implements Meter {

    /** @throws IllegalArgumentException if the burst is not positive or cannot be counted exactly */
    public LeakyBucket {
        rate.requireCountable(burst);
    }
}
