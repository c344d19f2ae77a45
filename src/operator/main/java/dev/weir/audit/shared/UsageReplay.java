package dev.weir.audit.shared;

import dev.weir.limit.Blocked;
import dev.weir.limit.ContinuousBucket;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Policy;
import java.math.BigInteger;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;

/**
 * One limit of a shared quota, to which all uses are charged in the order of their times, whether it permits them or
 * not. If its usage exceeds the limit, more was allowed than the limit permits.
 *
 * <p>The uses of a {@link UsageInterval} took place at unknown times in {@code [since, time]}. They are charged at
 * {@code time}, and compared with the limit only together with uses that certainly fell into the same window or flow.
 * So if the sum exceeds the limit, it did so wherever in these intervals the uses took place:
 *
 * <pre>
 *   windows    uses within one window count in it; an interval that extends beyond its end is left out
 *   counter    the same. Of the uses charged in a window by x, the last took place at some u ≤ x. At u, all of them
 *              were counted, and the previous window's weight was not less:
 *              share(u) + current(u) ≥ share(x) + charged(x)
 *   log        at x, the intervals with since > x − W: their uses took place in (x − W, x]
 *   buckets    the uses charged from s, when the bucket was full, to x. Let m be the earliest since of them: they took
 *              place in [m, x].  sum ≤ burst + flow(m, x)  ⟺  level = sum − flow(s, x) ≤ burst + flow(m, s)
 * </pre>
 *
 * <p>The steps of a bucket with interval refill are unknown here, so one additional step is allowed at any time.
 */
final class UsageReplay {

    private final String label;
    private final Limit<?> limit;
    private final Rate rate; // null unless the limit is a bucket
    private final long termMs;
    private final Queue<UsageInterval> loggedUses =
            new PriorityQueue<>(1, Comparator.comparingLong(UsageInterval::sinceMs));
    private LimitAccount<?> account;
    private BigInteger loggedCost = BigInteger.ZERO;
    private long fullMs;
    private long sinceMs;

    /**
     * Creates a replay without usage.
     *
     * @param termMs the longest term of a lease
     */
    UsageReplay(Policy.Term term, long termMs, long nowMs) {
        label = term.label();
        limit = term.limit() instanceof IntervalBucket bucket ? withoutSteps(bucket) : term.limit();
        rate = limit instanceof ContinuousBucket bucket
                ? bucket.rate()
                : limit instanceof Gcra gcra ? gcra.rate() : null;
        this.termMs = termMs;
        account = LimitAccount.open(limit, nowMs);
    }

    /** Returns a bucket that permits at least as much in any period as the steps do, whenever they occur. */
    private static Limit<?> withoutSteps(IntervalBucket bucket) {
        return new TokenBucket(Rate.of(bucket.tokens(), bucket.perMs()), bucket.burst() + bucket.tokens(), false);
    }

    String label() {
        return label;
    }

    Limit<?> limit() {
        return limit;
    }

    /** Returns whether the interval of a use is short enough to charge it. */
    boolean canCharge(UsageInterval use) {
        if (limit instanceof SlidingWindowLog log) {
            return use.durationMs() < log.perMs();
        }
        if (rate != null) { // a longer interval would hide that other uses exceed the limit
            return use.durationMs() <= Math.max(termMs, limit.windowMs(use.timeMs()));
        }
        return limit.windowEndMs(use.sinceMs()).equals(limit.windowEndMs(use.timeMs()));
    }

    /** Charges a use and returns the usage at its time. */
    BigInteger charge(UsageInterval use) {
        if (limit instanceof SlidingWindowLog log) {
            expireLogged(use.timeMs() - log.perMs());
            loggedUses.add(use);
            loggedCost = loggedCost.add(BigInteger.valueOf(use.cost()));
            return loggedCost;
        }
        boolean isFree = account.used(use.timeMs()) == 0;
        fullMs = isFree ? use.timeMs() : fullMs;
        sinceMs = isFree ? use.sinceMs() : Math.min(sinceMs, use.sinceMs());
        account = account.charge(use.cost(), use.timeMs());
        return BigInteger.valueOf(limit instanceof Blocked ? use.cost() : account.used(use.timeMs()));
    }

    /** Removes the uses that may have taken place at a time or before it. */
    private void expireLogged(long atMs) {
        while (!loggedUses.isEmpty() && loggedUses.peek().sinceMs() <= atMs) {
            loggedCost =
                    loggedCost.subtract(BigInteger.valueOf(loggedUses.remove().cost()));
        }
    }

    boolean exceeds(BigInteger used) {
        BigInteger most = BigInteger.valueOf(limit.capacity());
        return used.compareTo(rate == null ? most : most.add(flow(fullMs - sinceMs))) > 0;
    }

    /** Returns the number of tokens that are refilled in some milliseconds, rounded up. */
    private BigInteger flow(long ms) {
        BigInteger perMs = BigInteger.valueOf(rate.perMs());
        return BigInteger.valueOf(Math.max(0, ms))
                .multiply(BigInteger.valueOf(rate.tokens()))
                .add(perMs)
                .subtract(BigInteger.ONE)
                .divide(perMs);
    }
}
