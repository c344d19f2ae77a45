package dev.weir.limit;

/**
 * A rate of {@code tokens} per {@code perMs} milliseconds. Arithmetic is exact: tokens and milliseconds are both whole
 * numbers of a common unit, so nothing is rounded and no remainder is lost.
 *
 * <pre>
 *   7 tokens per 11,000 ms:   1 token = 11,000 units,   7 units per ms
 *   10 tokens per 1,000 ms:   1 token = 100 units,      1 unit per ms      (after division by the common divisor)
 * </pre>
 *
 * @param tokens 1 to {@link Limit#MAX_LEVEL}
 * @param perMs the time for {@code tokens}, in milliseconds, 1 or more
 * @param unitsPerToken derived from the two
 * @param unitsPerMs derived from the two
 */
public record Rate(long tokens, long perMs, long unitsPerToken, long unitsPerMs) {

    /**
     * Returns the rate of {@code tokens} per {@code perMs} milliseconds.
     *
     * @throws IllegalArgumentException if either is not 1 to {@link Limit#MAX_LEVEL}
     */
    public static Rate of(long tokens, long perMs) {
        Limit.requirePositive("limit", tokens);
        Limit.requirePositive("per", perMs);
        long divisor = gcd(tokens, perMs);
        return new Rate(tokens, perMs, perMs / divisor, tokens / divisor);
    }

    /**
     * Checks that a bucket of {@code capacity} tokens, and as much debt, can be counted in units without overflow.
     *
     * @throws IllegalArgumentException if it cannot
     */
    void requireCountable(long capacity) {
        Limit.requireCapacity("burst", capacity);
        if (capacity > Limit.MAX_CAPACITY / unitsPerToken) {
            throw new IllegalArgumentException("a burst of " + capacity + " at " + tokens + " per " + perMs
                    + " ms is too large to count exactly; the maximum is " + Limit.MAX_CAPACITY / unitsPerToken);
        }
    }

    /** Returns the most tokens that a level can hold exactly. */
    long maxTokens() {
        return Limit.MAX_LEVEL / unitsPerToken;
    }

    /** Returns {@code count} tokens (of either sign) in units, clamped to ±{@link Limit#MAX_LEVEL}. */
    long units(long count) {
        return saturatingMultiply(count, unitsPerToken);
    }

    /**
     * Returns the units that flow in {@code ms} milliseconds, at most {@link Limit#MAX_LEVEL}; 0 if {@code ms}
     * is negative.
     */
    long unitsIn(long ms) {
        return saturatingMultiply(Math.max(0, ms), unitsPerMs);
    }

    // Most rates have a divisor of 1. Testing for it is cheaper than dividing.

    /** Returns {@code units} in whole tokens, rounded down. */
    long wholeTokens(long units) {
        return unitsPerToken == 1 ? units : Math.floorDiv(units, unitsPerToken);
    }

    /** Returns the whole milliseconds in which {@code units} (0 or more) flow, rounded down. */
    long wholeMs(long units) {
        return unitsPerMs == 1 ? units : units / unitsPerMs;
    }

    /** Returns the milliseconds in which {@code units} flow, rounded up; 0 if {@code units} is 0 or negative. */
    long msToFlow(long units) {
        return units <= 0 ? 0 : wholeMs(units - 1) + 1;
    }

    /** Returns the product, clamped to ±{@link Limit#MAX_LEVEL}. */
    static long saturatingMultiply(long a, long b) {
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
