package dev.weir.testing;

/**
 * How many random cases a test tries. {@code mvn verify} tries some, {@code mvn verify -Dweir.effort=5} twelve times as
 * many: for a change of what the test is about.
 */
public final class Effort {

    private static final double FACTOR = Double.parseDouble(System.getProperty("weir.effort", "1"));

    private Effort() {}

    /** Returns how many cases to try, of {@code cases} at an effort of 1: at least one. */
    public static int times(int cases) {
        return Math.max(1, Math.toIntExact(Math.round(cases * FACTOR)));
    }
}
