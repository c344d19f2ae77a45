package dev.weir.limit;

/**
 * {@code tokens} per {@code perMs}, exactly: time and tokens share one whole unit, so nothing is ever rounded and no
 * remainder is lost.
 *
 * <pre>
 *   7 tokens per 11,000 ms:   1 token = 11,000 units,   7 units flow each ms
 *   10 tokens per 1,000 ms:   1 token = 100 units,      1 unit flows each ms      (the common divisor is taken out)
 * </pre>
 *
 * @param tokens 1 to {@link Limit#MAX_LEVEL}
 * @param perMs the time in which they flow, 1 ms or more
 * @param unitsPerToken derived
 * @param unitsPerMs derived
 */
public record Rate(long tokens, long perMs, long unitsPerToken, long unitsPerMs) {

    /**
     * The rate of {@code tokens} per {@code perMs}.
     *
     * @throws IllegalArgumentException if either is not positive
     */
    public static Rate of(long tokens, long perMs) {
        Limit.requirePositive("limit", tokens);
        Limit.requirePositive("per", perMs);
        long divisor = gcd(tokens, perMs);
        return new Rate(tokens, perMs, perMs / divisor, tokens / divisor);
    }

    /**
     * Throws unless a bucket of {@code capacity} tokens, and as much debt, can be counted in units without overflow.
     */
    void requireCountable(long capacity) {
        Limit.requireCapacity("burst", capacity);
        if (capacity > Limit.MAX_CAPACITY / unitsPerToken) {
            throw new IllegalArgumentException("a burst of " + capacity + " at " + tokens + " per " + perMs
                    + " ms is too large to count exactly; the most is " + Limit.MAX_CAPACITY / unitsPerToken);
        }
    }

    /** The most tokens that a level can hold exactly. */
    long maxTokens() {
        return Limit.MAX_LEVEL / unitsPerToken;
    }

    /** The units of some tokens (of either sign), kept within {@link Limit#MAX_LEVEL}. */
    long units(long count) {
        return saturatingMultiply(count, unitsPerToken);
    }

    /** The units that flow in some milliseconds, 0 or more, kept within {@link Limit#MAX_LEVEL}. */
    long unitsIn(long ms) {
        return saturatingMultiply(Math.max(0, ms), unitsPerMs);
    }

    // One of the two divisors is 1 for most rates; a division costs more than to see that.

    /** Whole tokens in some units, rounded down. */
    long wholeTokens(long units) {
        return unitsPerToken == 1 ? units : Math.floorDiv(units, unitsPerToken);
    }

    /** Whole milliseconds in which some units, 0 or more, flow; rounded down. */
    long wholeMs(long units) {
        return unitsPerMs == 1 ? units : units / unitsPerMs;
    }

    /** Milliseconds in which some units flow, rounded up; 0 for none or less. */
    long msToFlow(long units) {
        return units <= 0 ? 0 : wholeMs(units - 1) + 1;
    }

    private static long saturatingMultiply(long a, long b) {
        long high = Math.multiplyHigh(a, b);
        long low = a * b;
        boolean fits =
                (high == 0 && low >= 0 && low <= Limit.MAX_LEVEL) || (high == -1 && low < 0 && low >= -Limit.MAX_LEVEL);
        return fits ? low : (a < 0) == (b < 0) ? Limit.MAX_LEVEL : -Limit.MAX_LEVEL;
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
