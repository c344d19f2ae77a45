package dev.weir.bench;

/**
 * How long to measure.
 *
 * @param rounds how often each candidate has its turn
 * @param sliceMs how long a turn lasts
 * @param warmUp requests that each candidate has done before
 */
public record Effort(int rounds, long sliceMs, long warmUp) {
    public static final Effort FULL = new Effort(7, 4_000, 2_000_000);
    public static final Effort QUICK = new Effort(3, 2_000, 500_000);
}
