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
    public static final long PHASE_RETENTION_MS = 24 * 60 * 60 * 1000L;

    /** @throws IllegalArgumentException if a number is not positive, or the wait for a full bucket would overflow */
    public IntervalBucket {
        Limit.requirePositive("limit", tokens);
        Limit.requirePositive("per", perMs);
        Limit.requireCapacity("burst", burst);
        if (2 * burst / tokens >= MAX_LEVEL / perMs) {
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
    public long maxUsed() {
        long mostSteps = MAX_LEVEL / perMs - 1;
        return tokens > MAX_LEVEL / Math.max(1, mostSteps) ? MAX_LEVEL : Math.max(2 * burst, mostSteps * tokens);
    }

    @Override
    public long windowMs(long nowMs) {
        return Math.multiplyExact((burst - 1) / tokens + 1, perMs);
    }

    @Override
    public Steps initialState(long nowMs) {
        return new Steps(0, nowMs);
    }

    @Override
    public long available(Steps steps, long nowMs) {
        return burst - at(steps, nowMs).used();
    }

    @Override
    public long waitMs(Steps steps, long cost, long nowMs) {
        Steps now = at(steps, nowMs);
        long missing = now.used() - (burst - cost);
        return missing <= 0 ? 0 : now.stepMs() + refillMs(missing) - nowMs;
    }

    @Override
    public Steps charge(Steps steps, long cost, long nowMs) {
        Steps now = at(steps, nowMs);
        return new Steps(Limit.addToLevel(now.used(), cost), now.stepMs());
    }

    @Override
    public long expiresAtMs(Steps steps, long nowMs) {
        return Math.max(nowMs, phaseExpiresAtMs(steps));
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof IntervalBucket bucket && bucket.perMs == perMs;
    }

    @Override
    public Steps adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        if (!(old.limit() instanceof IntervalBucket bucket) || !isCompatibleWith(bucket)) {
            return Limit.super.adopt(old, mostUsed, nowMs);
        }
        long stepMs = bucket.at((Steps) old.state(), nowMs).stepMs();
        return new Steps(Math.min(mostUsed, old.used(nowMs)), stepMs);
    }

    /** The steps up to now; now itself is step zero once they are forgotten. */
    private Steps at(Steps steps, long nowMs) {
        long sinceMs = nowMs - steps.stepMs();
        if (sinceMs >= 0 && sinceMs < perMs) {
            return steps;
        }
        long stepMs = nowMs >= phaseExpiresAtMs(steps) ? nowMs : nowMs - Math.floorMod(sinceMs, perMs);
        long passed = (stepMs - steps.stepMs()) / perMs;
        long used = passed > steps.used() / tokens ? 0 : Math.max(0, steps.used() - passed * tokens);
        return new Steps(used, stepMs);
    }

    /** How long the steps take that bring so many tokens, at least one, from a step on. */
    private long refillMs(long missing) {
        if (missing <= tokens) {
            return perMs;
        }
        long stepsToGo = (missing - 1) / tokens + 1;
        return (missing <= burst ? stepsToGo : Math.min(stepsToGo, MAX_LEVEL / perMs)) * perMs;
    }

    /** When the bucket has been full and idle for so long that its next request is a first one. */
    private long phaseExpiresAtMs(Steps steps) {
        long toFullMs = steps.used() == 0 ? 0 : refillMs(steps.used());
        return steps.stepMs() + toFullMs + Math.max(perMs, PHASE_RETENTION_MS);
    }
}
