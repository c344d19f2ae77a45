package dev.weir.limit;

/**
 * A leaky bucket used as a meter (ITU-T I.371). Each request raises the level by its cost, the level sinks at the rate,
 * and a request that would raise it above {@code burst} is denied. (The leaky bucket as a queue is in package
 * {@code dev.weir.shape}.)
 *
 * @param rate how fast the level sinks
 * @param burst the capacity in tokens
 * @param countDenied whether denied requests are charged too
 */
public record LeakyBucket(Rate rate, long burst, boolean countDenied) implements ContinuousBucket {

    /** @throws IllegalArgumentException if the burst is not positive or too large to count exactly at this rate */
    public LeakyBucket {
        rate.requireCountable(burst);
    }
}
