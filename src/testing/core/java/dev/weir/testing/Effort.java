package dev.weir.testing;

/**
 * How many random cases a test tries. A build tries enough to notice a defect; {@code mvn verify -Dweir.effort=5} tries
 * five times as many.
 */
public final class Effort {

    private static final double FACTOR = Double.parseDouble(System.getProperty("weir.effort", "1"));

    private Effort() {}

    /** Returns how many cases to try where a build tries {@code cases}: at least one. */
    public static int times(int cases) {
        return Math.max(1, Math.toIntExact(Math.round(cases * FACTOR)));
    }
}
