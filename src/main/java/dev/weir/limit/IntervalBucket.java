package dev.weir.limit;

/**
 * Token bucket that is refilled in steps ({@code refill: interval}): at each multiple of the window since the first
 * request, the window's tokens are added, up to the burst.
 *
 * <pre>
 *   3 a second, burst 7, first request at t=400:   tokens come at 1400, 2400, 3400, …   3 each
 * </pre>
 *
 * @param tokens how many come at each step
 * @param perMs the window
 * @param burst the capacity; the bucket starts full
 */
public record IntervalBucket(long tokens, long perMs, long burst, boolean countDenied)
        implements Limit<IntervalBucket.Steps> {

    /** How long a full and idle bucket remembers when its steps fall; after that, its next request is a first one. */
    public static final long PHASE_KEPT_MS = 24 * 60 * 60 * 1000L;

    /** @throws IllegalArgumentException if a number is not positive, or the wait for a full bucket would overflow */
    public IntervalBucket {
        Limit.requirePositive("limit", tokens);
        Limit.requirePositive("per", perMs);
        Limit.requirePositive("burst", burst);
        if (burst / tokens >= MAX_LEVEL / perMs) {
            throw new IllegalArgumentException("a burst of " + burst + " takes too long to fill at " + tokens + " per "
                    + perMs + " ms to be counted");
        }
    }

    /**
     * What was taken, and where the steps fall.
     *
     * @param used tokens missing from a full bucket after the last step
     * @param stepMs the last step that was counted; the first request is step zero
     */
    public record Steps(long used, long stepMs) {}

    @Override
    public long capacity() {
        return burst;
    }

    @Override
    public long windowMs(long nowMs) {
        return Math.multiplyExact((burst - 1) / tokens + 1, perMs);
    }

    @Override
    public Steps fresh(long nowMs) {
        return new Steps(0, nowMs);
    }

    @Override
    public long available(Steps steps, long nowMs) {
        return burst - usedAt(steps, nowMs);
    }

    @Override
    public long waitMs(Steps steps, long cost, long nowMs) {
        long missing = usedAt(steps, nowMs) - (burst - cost);
        if (missing <= 0) {
            return 0;
        }
        long stepsToGo = Math.min((missing - 1) / tokens + 1, MAX_LEVEL / perMs);
        return lastStepMs(steps, nowMs) + stepsToGo * perMs - nowMs;
    }

    @Override
    public Steps charge(Steps steps, long cost, long nowMs) {
        return new Steps(Limit.addToLevel(usedAt(steps, nowMs), cost), lastStepMs(steps, nowMs));
    }

    @Override
    public long forgettableAtMs(Steps steps, long nowMs) {
        return Math.max(nowMs, forgottenAtMs(steps));
    }

    @Override
    public boolean continues(Limit<?> old) {
        return old instanceof IntervalBucket bucket && bucket.perMs == perMs;
    }

    @Override
    public Steps adopt(Account<?> old, long nowMs) {
        return old.limit() instanceof IntervalBucket bucket && continues(bucket)
                ? new Steps(old.used(nowMs), bucket.lastStepMs((Steps) old.state(), nowMs))
                : Limit.super.adopt(old, nowMs);
    }

    private long usedAt(Steps steps, long nowMs) {
        long passed = (lastStepMs(steps, nowMs) - steps.stepMs()) / perMs;
        return passed > steps.used() / tokens ? 0 : Math.max(0, steps.used() - passed * tokens);
    }

    /** The last step up to now; now itself is step zero once the steps are forgotten. */
    private long lastStepMs(Steps steps, long nowMs) {
        return nowMs >= forgottenAtMs(steps) ? nowMs : nowMs - Math.floorMod(nowMs - steps.stepMs(), perMs);
    }

    /** When the bucket has been full and idle for so long that its next request is a first one. */
    private long forgottenAtMs(Steps steps) {
        long stepsToFull = steps.used() == 0 ? 0 : Math.min((steps.used() - 1) / tokens + 1, MAX_LEVEL / perMs);
        return steps.stepMs() + stepsToFull * perMs + Math.max(perMs, PHASE_KEPT_MS);
    }
}
