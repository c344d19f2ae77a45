package dev.weir.limit;

import java.math.BigInteger;

/**
 * The exact usage of a limit by its definition: in unbounded integers, without regard to speed or memory, and without
 * the arithmetic of the limits. All tests, simulations and failure suites compare limits with it. The times of charges
 * must not decrease.
 *
 * <p>Usage is a whole number of parts, of which a fixed number make a token. It has no maximum: it can exceed the
 * capacity.
 */
public abstract class LimitOracle {

    private final BigInteger capacity;

    LimitOracle(long capacity) {
        this.capacity = big(capacity);
    }

    /** Returns the oracle of a limit, without usage. */
    public static LimitOracle of(Limit<?> limit) {
        if (limit instanceof FixedWindow window) {
            return fixedWindow(window.limit(), window.perMs());
        } else if (limit instanceof CalendarWindow window) {
            return new CalendarOracle(window.limit(), window.period(), window.zone());
        } else if (limit instanceof SlidingWindowLog log) {
            return log(log.limit(), log.perMs());
        } else if (limit instanceof SlidingWindowCounter counter) {
            return counter(counter.limit(), counter.perMs(), counter.strict());
        } else if (limit instanceof ContinuousBucket bucket) {
            return bucket(bucket.rate().tokens(), bucket.rate().perMs(), bucket.burst());
        } else if (limit instanceof Gcra gcra) {
            return new BucketOracle.Arrival(gcra.rate().tokens(), gcra.rate().perMs(), gcra.burst());
        } else if (limit instanceof IntervalBucket bucket) {
            return steps(bucket.tokens(), bucket.perMs(), bucket.burst());
        } else if (limit instanceof Unlimited || limit instanceof Blocked) {
            return uncounted(limit.capacity());
        }
        throw new IllegalArgumentException("there is no oracle for " + limit);
    }

    /** Returns the oracle of a fixed window: the sum of each aligned window is at most the limit. */
    public static LimitOracle fixedWindow(long limit, long perMs) {
        return new WindowOracle.Fixed(limit, perMs);
    }

    /** Returns the oracle of a sliding window log: the sum of each window (t − per, t] is at most the limit. */
    public static LimitOracle log(long limit, long perMs) {
        return new LogOracle(limit, perMs);
    }

    /**
     * Returns the oracle of a sliding window counter. The sum of the current window, plus the share of the previous
     * window that the sliding one still covers, is at most the limit. The share is rounded up if the counter is strict.
     */
    public static LimitOracle counter(long limit, long perMs, boolean isStrict) {
        return new WindowOracle.Counter(limit, perMs, isStrict);
    }

    /** Returns the oracle of a token bucket or leaky bucket: over every interval, at most the burst plus the inflow. */
    public static LimitOracle bucket(long tokens, long perMs, long burst) {
        return new BucketOracle.Level(tokens, perMs, burst);
    }

    /** Returns the oracle of a bucket whose tokens arrive in steps of {@code perMs} after it was opened. */
    public static LimitOracle steps(long tokens, long perMs, long burst) {
        return new BucketOracle.Steps(tokens, perMs, burst);
    }

    /** Returns the oracle of a limit that counts nothing. */
    public static LimitOracle uncounted(long capacity) {
        return new Uncounted(capacity);
    }

    /** Returns the usage in parts. */
    abstract BigInteger parts(BigInteger nowMs);

    /** Returns how many parts make a token. */
    BigInteger partsOfToken() {
        return BigInteger.ONE;
    }

    /** Returns whether a part of a token counts as a whole one. */
    boolean roundsUp() {
        return true;
    }

    /** Charges a cost, whether it fits or not. A cost below 0 frees the newest usage, to no less than none. */
    public abstract void charge(BigInteger cost, BigInteger nowMs);

    /** Called for the first charge; limits whose windows start there store its time. */
    public void open(long nowMs) {}

    /** Returns the oracle of the same limit with another number of tokens per window; both count the same usage. */
    public LimitOracle withTokens(long tokens) {
        throw new UnsupportedOperationException("requests cannot override " + this);
    }

    /** Takes over the usage of an oracle under other terms, if its times mean the same here. Returns whether it does. */
    public boolean continueFrom(LimitOracle old, long nowMs) {
        return false;
    }

    /** Charges a cost, whether it fits or not. A cost below 0 frees the newest usage, to no less than none. */
    public final void charge(long cost, long nowMs) {
        charge(big(cost), big(nowMs));
    }

    /** A denied cost counts up to one capacity beyond the limit; a log counts each one in full. */
    public final void chargeDenied(long cost, Limit<?> limit, long nowMs) {
        charge(limit instanceof SlidingWindowLog ? cost : inReserve(cost, limit.capacity(), nowMs), nowMs);
    }

    /** Returns how much of a cost can be charged so that at most {@code maxDebt} tokens beyond the limit are in use. */
    public final long inReserve(long cost, long maxDebt, long nowMs) {
        return big(cost)
                .min(available(big(nowMs)).add(big(maxDebt)).max(BigInteger.ZERO))
                .longValueExact();
    }

    public final BigInteger capacity() {
        return capacity;
    }

    /** Returns the whole tokens available now, rounded as the limit rounds; negative while in debt. */
    public final BigInteger available(BigInteger nowMs) {
        BigInteger parts = parts(nowMs);
        return capacity.subtract(roundsUp() ? ceiling(parts, partsOfToken()) : floor(parts, partsOfToken()));
    }

    public final long available(long nowMs) {
        return available(big(nowMs)).longValueExact();
    }

    /** Returns by how many tokens the usage exceeds the capacity; 0 or less if it does not. */
    public final long excess(long nowMs) {
        return -available(nowMs);
    }

    /** Returns the tokens in use, rounded down. */
    public final long used(long nowMs) {
        return floor(parts(big(nowMs)), partsOfToken()).longValueExact();
    }

    /** Returns whether nothing is in use, not even a part of a token. */
    public final boolean isUnused(long nowMs) {
        return parts(big(nowMs)).signum() == 0;
    }

    /**
     * Returns the time until a cost of at most the capacity fits. Found by bisection: what is available never decreases
     * while nothing is charged.
     */
    public BigInteger waitMs(BigInteger cost, BigInteger nowMs) {
        if (cost.compareTo(capacity) > 0) {
            throw new IllegalArgumentException("a cost of " + cost + " never fits");
        }
        if (cost.compareTo(available(nowMs)) <= 0) {
            return BigInteger.ZERO;
        }
        BigInteger fits = BigInteger.ONE;
        while (cost.compareTo(available(nowMs.add(fits))) > 0) {
            fits = fits.shiftLeft(1);
        }
        BigInteger tooEarly = fits.shiftRight(1);
        while (fits.subtract(tooEarly).compareTo(BigInteger.ONE) > 0) {
            BigInteger middle = tooEarly.add(fits).shiftRight(1);
            if (cost.compareTo(available(nowMs.add(middle))) <= 0) {
                fits = middle;
            } else {
                tooEarly = middle;
            }
        }
        return fits;
    }

    public final long waitMs(long cost, long nowMs) {
        return waitMs(big(cost), big(nowMs)).longValueExact();
    }

    static BigInteger big(long number) {
        return BigInteger.valueOf(number);
    }

    static BigInteger floor(BigInteger dividend, BigInteger divisor) {
        BigInteger[] parts = dividend.divideAndRemainder(divisor);
        return parts[1].signum() < 0 ? parts[0].subtract(BigInteger.ONE) : parts[0];
    }

    static BigInteger ceiling(BigInteger dividend, BigInteger divisor) {
        return floor(dividend.negate(), divisor).negate();
    }

    private static final class Uncounted extends LimitOracle {

        Uncounted(long capacity) {
            super(capacity);
        }

        @Override
        BigInteger parts(BigInteger nowMs) {
            return BigInteger.ZERO;
        }

        @Override
        public void charge(BigInteger cost, BigInteger nowMs) {}

        @Override
        public boolean continueFrom(LimitOracle old, long nowMs) {
            return true;
        }
    }
}
