package dev.weir.shape;

import java.util.concurrent.TimeUnit;

/**
 * A check of the pace that a queue promises, by its definition and independent of the implementation. In each interval,
 * releases cost at most the burst plus what the limit permits in that time. A cost above the burst counts as the burst
 * until its time has passed. With P the tokens released before, t the times, T the time per token, and c the cost, at
 * most the burst:
 *
 * <pre>
 *   P(j) + c(j) - burst - t(j)/T  ≤  P(i) - t(i)/T      for all i ≤ j
 * </pre>
 *
 * <p>So it suffices to store the smallest right side so far.
 */
public final class OutflowPace {

    private final long perNanos;
    private final long burst;

    private boolean hasReleases;
    private long firstNanos;
    private long tokens;
    private long least = Long.MAX_VALUE; // in tokens, times perNanos

    /**
     * @param perMs the period of the limit, in milliseconds
     * @param burst the tokens that can be released at once, 1 or more
     */
    public OutflowPace(long perMs, long burst) {
        this.perNanos = TimeUnit.MILLISECONDS.toNanos(perMs);
        this.burst = burst;
    }

    /**
     * Adds a release and returns by how many nanoseconds it is too early: 0 or less if it keeps the pace.
     *
     * @param limit the tokens in each period; if the limit changes, the highest so far
     * @param atNanos not before the release that was added last
     * @param cost the tokens that the release takes
     * @throws ArithmeticException if the times are too far apart for this limit
     */
    public long earlyNanos(long limit, long atNanos, long cost) {
        if (!hasReleases) {
            hasReleases = true;
            firstNanos = atNanos;
        }
        long flown = Math.multiplyExact(atNanos - firstNanos, limit);
        least = Math.min(least, Math.multiplyExact(tokens, perNanos) - flown);
        long counted = tokens + Math.min(cost, burst) - burst;
        long early = Math.multiplyExact(counted, perNanos) - flown - least;
        tokens += cost;
        return -Math.floorDiv(-early, limit);
    }
}
