package dev.weir.limit;

/**
 * A token bucket that holds {@code burst} tokens, starts full and is refilled continuously at the rate. A request takes
 * its cost in tokens or is denied. {@link ContinuousBucket} computes the level, including the refill.
 *
 * @param rate how fast the bucket is refilled
 * @param burst the capacity in tokens
 * @param countDenied whether denied requests are charged too
 */
public record TokenBucket(Rate rate, long burst, boolean countDenied) implements ContinuousBucket {

    /** @throws IllegalArgumentException if the burst is not positive or too large to count exactly at this rate */
    public TokenBucket {
        rate.requireCountable(burst);
    }
}
