package dev.weir.limit;

import static dev.weir.limit.Limit.MAX_LEVEL;

/**
 * How the level of a bucket changes if it had been different at an earlier time. A bucket that has never been empty
 * since then is lower by the same amount. A bucket that would have been empty is not lower than empty: what would have
 * flowed out then is lost. A bucket that was empty would have let more flow out.
 *
 * <pre>
 *   change now = clamp(change then + shift, least, most)
 *
 *   burst 10, 10/s; 5 used at 0 s, level 5;  0.3 s later the level is 2:  shift  0, least −2   (at most 2 less)
 *                                            0.9 s later it was empty for 0.4 s:
 *                                                                         shift −4, least  0   (4 more would have flowed)
 * </pre>
 *
 * <p>These functions are closed under composition, so the history between two charges is three numbers, however long it
 * is (cf. D. V. Lindley, <i>The theory of queues with a single server</i>, 1952, whose recursion W ← max(0, W + c − u)
 * is the case without an upper bound).
 *
 * @param shift what is added to the change, in units of the level
 * @param least the most negative change; {@code −MAX_LEVEL} is no bound, since no level is higher
 * @param most the largest change; {@code MAX_LEVEL} is no bound
 */
public record LevelResponse(long shift, long least, long most) {

    /** Every change is still the same. */
    static final LevelResponse SAME = new LevelResponse(0, -MAX_LEVEL, MAX_LEVEL);

    /**
     * Returns the response of a bucket that has just lost its outflow.
     *
     * @param level the level less the outflow; negative by what could not flow out
     */
    static LevelResponse drained(long level) {
        return level >= 0
                ? new LevelResponse(0, -Math.min(level, MAX_LEVEL), MAX_LEVEL)
                : new LevelResponse(Math.max(level, -MAX_LEVEL), 0, MAX_LEVEL);
    }

    /**
     * Returns the response of a bucket whose level was just lowered to a bound if it exceeded that.
     *
     * @param excess by how much the level exceeded the bound; negative by how much it did not
     */
    static LevelResponse cappedBy(long excess) {
        return excess >= 0
                ? new LevelResponse(Math.min(excess, MAX_LEVEL), -MAX_LEVEL, 0)
                : new LevelResponse(0, -MAX_LEVEL, Math.min(-excess, MAX_LEVEL));
    }

    /** Returns the change now that follows from a change then, of at most {@code ±MAX_LEVEL}. */
    long to(long change) {
        return clamp(change + shift, least, most);
    }

    /** Returns the response over this time and then over another. */
    LevelResponse then(LevelResponse next) {
        return new LevelResponse(
                bounded(shift + next.shift),
                clamp(least + next.shift, next.least, next.most),
                clamp(most + next.shift, next.least, next.most));
    }

    /** Returns the response to further changes, after {@code change}. */
    LevelResponse after(long change) {
        long now = to(change);
        return new LevelResponse(bounded(shift + (change - now)), bounded(least - now), bounded(most - now));
    }

    private static long clamp(long value, long least, long most) {
        return Math.max(least, Math.min(most, value));
    }

    /** Returns the value, clamped to {@code ±MAX_LEVEL}. */
    static long bounded(long value) {
        return clamp(value, -MAX_LEVEL, MAX_LEVEL);
    }
}
