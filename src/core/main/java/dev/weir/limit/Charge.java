package dev.weir.limit;

/**
 * A charge whose cost can still be corrected, because the actual cost of its request is not known yet.
 *
 * @param number identifies the charge among those of its key that can still be corrected
 * @param atMs when it was charged, in milliseconds since the epoch
 * @param cost the tokens that were charged, 0 or more
 */
public record Charge(long number, long atMs, long cost) {

    /** @throws IllegalArgumentException if the cost is negative */
    public Charge {
        if (cost < 0) {
            throw new IllegalArgumentException("cost must be 0 or more, is " + cost);
        }
    }
}
