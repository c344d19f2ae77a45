package dev.weir.limit;

import java.util.OptionalLong;

/**
 * A sliding window that is estimated from two counters. The count of the previous fixed window is weighted by the share
 * of it that still overlaps the sliding window, as if its requests were spread evenly. See Cloudflare, <i>How we built
 * rate limiting capable of scaling to millions of domains</i>, 2017. State and time per request are O(1).
 *
 * <pre>
 *   7 a minute, previous 5, current 3, 18 s into the minute:  ⌊5 · 42/60⌋ + 3 = 6,  one more is permitted
 * </pre>
 *
 * @param limit tokens per window; 0 denies every cost above 0
 * @param perMs the length of a window, in milliseconds; windows are aligned to the epoch
 * @param strict whether the previous window's share is rounded up instead of down
 * @param countDenied whether denied requests are charged too
 */
public record SlidingWindowCounter(long limit, long perMs, boolean strict, boolean countDenied)
        implements Limit<SlidingWindowCounter.Windows> {

    /**
     * @throws IllegalArgumentException if {@code limit} is negative, {@code perMs} is not positive, or their product is
     *     too large to weigh exactly
     */
    public SlidingWindowCounter {
        Limit.requireTokens("limit", limit);
        Limit.requirePositive("per", perMs);
        if (limit > MAX_CAPACITY / perMs) {
            throw new IllegalArgumentException("a limit of " + limit + " per " + perMs
                    + " ms is too large to weigh exactly; the maximum is " + MAX_CAPACITY / perMs);
        }
    }

    /**
     * The counts of two consecutive windows.
     *
     * @param startMs the start of the current window
     * @param previous tokens used in the previous window
     * @param current tokens used in the current window
     * @param changes the changes of the limit that corrections of charges in the two windows have to regard
     */
    public record Windows(long startMs, long previous, long current, LimitChanges changes) {

        /** Creates counts without charges whose cost can be corrected. */
        public Windows(long startMs, long previous, long current) {
            this(startMs, previous, current, LimitChanges.NONE);
        }
    }

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public long maxUsed() {
        return MAX_LEVEL / perMs;
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof SlidingWindowCounter counter && counter.perMs == perMs;
    }

    @Override
    public long windowMs(long nowMs) {
        return perMs;
    }

    @Override
    public OptionalLong windowEndMs(long nowMs) {
        return OptionalLong.of(startMs(nowMs) + perMs);
    }

    @Override
    public Windows initialState(long nowMs) {
        return new Windows(startMs(nowMs), 0, 0);
    }

    @Override
    public long available(Windows windows, long nowMs) {
        Windows now = slide(windows, nowMs);
        return limit - now.current() - share(now.previous(), nowMs - now.startMs());
    }

    @Override
    public long waitMs(Windows windows, long cost, long nowMs) {
        Windows now = slide(windows, nowMs);
        long free = limit - cost;
        long elapsedMs = Math.max(nowMs - now.startMs(), elapsedUntilMs(now.previous(), free - now.current()));
        if (elapsedMs >= perMs) { // in the next window, whose previous window is the current one
            elapsedMs = perMs + elapsedUntilMs(now.current(), free);
        }
        return now.startMs() + elapsedMs - nowMs;
    }

    @Override
    public Windows charge(Windows windows, long cost, long nowMs) {
        Windows now = slide(windows, nowMs);
        long current = Limit.addToLevel(now.current(), cost);
        if (current > limit) {
            current = countable(current); // the largest debt whose product with perMs fits
        }
        long credit = Math.max(0, -Math.max(cost, -MAX_LEVEL));
        long owed = Math.min(0, now.current() - credit); // the part of a refund that exceeds this window's count
        return new Windows(now.startMs(), Limit.addToLevel(now.previous(), owed), current, now.changes());
    }

    @Override
    public Windows chargeReserved(Windows windows, Charge charge) {
        Windows next = charge(windows, charge.cost(), charge.atMs());
        return new Windows(
                next.startMs(), next.previous(), next.current(), next.changes().before(charge));
    }

    /** Corrects the count of the window of the charge, and nothing if neither window is. */
    @Override
    public Windows settled(Windows windows, Charge charge, long actualCost, long nowMs) {
        Windows now = slide(windows, nowMs);
        long startMs = startMs(charge.atMs());
        boolean isCurrent = startMs == now.startMs();
        long change = actualCost - charge.cost();
        if (change == 0 || (!isCurrent && startMs != now.startMs() - perMs)) {
            return windows;
        }
        LimitChanges.Correction correction = now.changes().corrected(charge, change, startMs + perMs);
        long corrected = Limit.addToLevel(isCurrent ? now.current() : now.previous(), correction.change());
        return new Windows(
                now.startMs(),
                isCurrent ? now.previous() : countable(corrected),
                isCurrent ? countable(corrected) : now.current(),
                correction.changes());
    }

    private long countable(long count) {
        return Math.min(MAX_LEVEL / perMs, count);
    }

    @Override
    public boolean isOverridable() {
        return true;
    }

    @Override
    public SlidingWindowCounter withTokens(long tokens, long windowMs) {
        return windowMs == perMs
                ? new SlidingWindowCounter(Math.min(tokens, MAX_CAPACITY / perMs), perMs, strict, countDenied)
                : this;
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof SlidingWindowCounter counter && counter.perMs == perMs;
    }

    @Override
    public Windows adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        if (!isCompatibleWith(old.limit())) {
            return Limit.super.adopt(old, mostUsed, nowMs);
        }
        Windows windows = slide((Windows) old.state(), nowMs);
        return new Windows(
                windows.startMs(),
                windows.previous(),
                Math.min(mostUsed, windows.current()),
                windows.changes().and(nowMs, windows.current() - mostUsed));
    }

    /** Returns the first elapsed time of a window at which the share of {@code previous} is at most {@code free}. */
    private long elapsedUntilMs(long previous, long free) {
        if (free < 0) {
            return perMs;
        }
        if (previous <= free) {
            return 0;
        }
        return strict
                ? perMs - free * perMs / previous // previous · left ≤ free · per
                : perMs - (((free + 1) * perMs - 1) / previous); // previous · left < (free + 1) · per
    }

    private long share(long previous, long elapsedMs) {
        if (previous == 0) {
            return 0;
        }
        long weighed = previous * (perMs - elapsedMs);
        return strict ? weighed / perMs + (weighed % perMs == 0 ? 0 : 1) : weighed / perMs;
    }

    private Windows slide(Windows windows, long nowMs) {
        long elapsedMs = nowMs - windows.startMs();
        if (elapsedMs >= 0 && elapsedMs < perMs) {
            return windows;
        }
        long startMs = startMs(nowMs);
        long previous = windows.startMs() == startMs - perMs ? windows.current() : 0;
        return new Windows(startMs, previous, 0, windows.changes().since(startMs - perMs));
    }

    private long startMs(long nowMs) {
        return nowMs - Math.floorMod(nowMs, perMs);
    }
}
