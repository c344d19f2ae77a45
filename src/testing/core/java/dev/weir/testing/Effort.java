package dev.weir.testing;

/**
 * How many random cases a test tries. A build tries enough to notice a defect; {@code mvn verify -Dweir.effort=5} tries
 * five times as many.
 */
public final class Effort {

    private static final int FACTOR = Integer.getInteger("weir.effort", 1);

    private Effort() {}

    /** Returns how many cases to try where a build tries {@code cases}. */
    public static int times(int cases) {
        return Math.multiplyExact(cases, FACTOR);
    }
}
