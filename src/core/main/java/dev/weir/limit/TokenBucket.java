package dev.weir.limit;

/**
 * Token bucket: holds {@code burst} tokens, starts full, and the rate's tokens flow in continuously. A request takes
 * its cost in tokens or is refused.
 *
 * @param rate how fast tokens come back
 * @param burst the capacity in tokens
 */
public record TokenBucket(Rate rate, long burst, boolean countDenied) implements Meter {

    /** @throws IllegalArgumentException if the burst is not positive or cannot be counted exactly */
    public TokenBucket {
        rate.requireCountable(burst);
    }
}
