package dev.weir.audit.shared;

import dev.weir.limit.Blocked;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Meter;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Policy;
import java.math.BigInteger;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;

/**
 * One limit of a shared quota, charged all uses in the order of their times, whatever it says: if more is in use then
 * than it gives, more was allowed.
 *
 * <p>Of a {@link UsageInterval} is known that all of it came in {@code [since, time]}. It is charged at its time, and
 * only what surely came together is held together. So if that is above, the uses were, whenever in these times each of
 * them came:
 *
 * <pre>
 *   windows    what came in one window, counts in it; what reaches over its end is left out
 *   counter    the same. Of what is charged in a window by x, the last came at some u ≤ x. All of it was in the count then, and
 *              the window before weighed no less:  share(u) + current(u) ≥ share(x) + charged(x)
 *   log        at x, what has since > x − W: it came in (x − W, x]
 *   buckets    what is charged from s, when the bucket was full, to x. Let m be the earliest since of it: it came in [m, x].
 *              sum ≤ burst + flow(m, x)  ⟺  level = sum − flow(s, x) ≤ burst + flow(m, s)
 * </pre>
 *
 * <p>Of a bucket that is refilled by steps it is not known here when they come: one step more is allowed at any time.
 */
final class UsageReplay {

    private final String label;
    private final Limit<?> limit;
    private final Rate rate; // of a bucket, else null
    private final long termMs;
    private final Queue<UsageInterval> loggedUses =
            new PriorityQueue<>(1, Comparator.comparingLong(UsageInterval::sinceMs));
    private LimitAccount<?> account;
    private BigInteger loggedCost = BigInteger.ZERO;
    private long fullMs;
    private long sinceMs;

    /**
     * Begins with nothing in use.
     *
     * @param termMs for how long a slice is lent at most
     */
    UsageReplay(Policy.Term term, long termMs, long nowMs) {
        label = term.label();
        limit = term.limit() instanceof IntervalBucket bucket ? withoutSteps(bucket) : term.limit();
        rate = limit instanceof Meter meter ? meter.rate() : limit instanceof Gcra gcra ? gcra.rate() : null;
        this.termMs = termMs;
        account = LimitAccount.open(limit, nowMs);
    }

    /** As much in any time as the steps give wherever they fall. */
    private static Limit<?> withoutSteps(IntervalBucket bucket) {
        return new TokenBucket(Rate.of(bucket.tokens(), bucket.perMs()), bucket.burst() + bucket.tokens(), false);
    }

    String label() {
        return label;
    }

    Limit<?> limit() {
        return limit;
    }

    /** Whether a use is known well enough to be taken. */
    boolean canCharge(UsageInterval use) {
        if (limit instanceof SlidingWindowLog log) {
            return use.durationMs() < log.perMs();
        }
        if (rate != null) { // one that lasts for longer would let too much else pass
            return use.durationMs() <= Math.max(termMs, limit.windowMs(use.timeMs()));
        }
        return limit.windowEndsMs(use.sinceMs()) == limit.windowEndsMs(use.timeMs());
    }

    /** Returns how much is in use then. */
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

    /** Forgets what may have come at a time or before. */
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

    /** Whole tokens that come in some milliseconds, rounded up. */
    private BigInteger flow(long ms) {
        BigInteger perMs = BigInteger.valueOf(rate.perMs());
        return BigInteger.valueOf(Math.max(0, ms))
                .multiply(BigInteger.valueOf(rate.tokens()))
                .add(perMs)
                .subtract(BigInteger.ONE)
                .divide(perMs);
    }
}
