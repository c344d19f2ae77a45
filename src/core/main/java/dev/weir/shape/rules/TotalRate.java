package dev.weir.shape.rules;

import java.math.BigInteger;

/**
 * The rate of a queue's total, which determines the time of a token.
 *
 * @param limit the tokens per {@code perMs}
 * @param perMs the time for {@code limit}, in milliseconds
 */
public record TotalRate(long limit, long perMs) {

    /**
     * Returns the pacing of the total.
     *
     * @throws IllegalArgumentException if a part is out of its range
     */
    public Pacing pacing() {
        return Pacing.of(limit, perMs, 1);
    }

    /** Returns whether the rate is higher than another one. */
    public boolean isFasterThan(TotalRate other) {
        return product(limit, other.perMs).compareTo(product(other.limit, perMs)) > 0;
    }

    private static BigInteger product(long a, long b) {
        return BigInteger.valueOf(a).multiply(BigInteger.valueOf(b));
    }
}
