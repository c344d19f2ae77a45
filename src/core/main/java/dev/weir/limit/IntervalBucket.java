package dev.weir.limit;

/**
 * A token bucket that is refilled in steps ({@code refill: interval}). It starts full; at each multiple of
 * {@code perMs} after the first request it gains {@code tokens}, up to {@code burst}. Each operation takes O(1).
 *
 * <pre>
 *   3 tokens a second, burst 7, first request at t=400:   3 tokens are added at 1400, 2400, 3400, …
 * </pre>
 *
 * @param tokens tokens added at each step
 * @param perMs the time between steps, in milliseconds
 * @param burst the capacity in tokens
 * @param countDenied whether denied requests are charged too
 */
public record IntervalBucket(long tokens, long perMs, long burst, boolean countDenied)
        implements Limit<IntervalBucket.Steps> {

    /**
     * How long a full, idle bucket keeps the times of its steps, in milliseconds. The next request after that counts as
     * a first request.
     */
    public static final long PHASE_RETENTION_MS = 24 * 60 * 60 * 1000L;

    /**
     * @throws IllegalArgumentException if a number is not positive, or if refilling takes so long that it
     *     would overflow
     */
    public IntervalBucket {
        Limit.requirePositive("limit", tokens);
        Limit.requirePositive("per", perMs);
        Limit.requireCapacity("burst", burst);
        if (2 * burst / tokens >= MAX_LEVEL / perMs) {
            throw new IllegalArgumentException("a burst of " + burst + " takes too long to refill at " + tokens
                    + " per " + perMs + " ms to be counted exactly");
        }
    }

    /**
     * The tokens in use and the times of the steps.
     *
     * @param used tokens missing from a full bucket after the last step
     * @param stepMs the time of the last step that was applied; the first request is step zero
     * @param open the charges whose cost can be corrected
     */
    public record Steps(long used, long stepMs, OpenCharges open) {

        /** Creates a state without charges that can be corrected. */
        public Steps(long used, long stepMs) {
            this(used, stepMs, OpenCharges.NONE);
        }
    }

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
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof IntervalBucket bucket && bucket.perMs == perMs;
    }

    @Override
    public long rateTokens() {
        return tokens;
    }

    @Override
    public long ratePeriodMs(long nowMs) {
        return perMs;
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
        return new Steps(
                Limit.addToLevel(now.used(), cost),
                now.stepMs(),
                steps.open().isEmpty()
                        ? OpenCharges.NONE
                        : steps.open().charged(drained(steps, now), Math.max(-MAX_LEVEL, cost)));
    }

    @Override
    public Steps chargeReserved(Steps steps, Charge charge) {
        Steps next = charge(steps, charge.cost(), charge.atMs());
        return new Steps(next.used(), next.stepMs(), next.open().with(charge));
    }

    @Override
    public Steps settled(Steps steps, Charge charge, long actualCost, long nowMs) {
        if (!steps.open().contains(charge)) {
            return steps;
        }
        Steps now = at(steps, nowMs);
        OpenCharges.Correction correction = steps.open()
                .then(LevelResponse.drained(drained(steps, now)))
                .corrected(charge, actualCost - charge.cost());
        return new Steps(Limit.addToLevel(now.used(), correction.change()), now.stepMs(), correction.open());
    }

    @Override
    public Steps refunded(Steps steps, Charge refund, long nowMs) {
        if (steps.open().isEmpty()) {
            return steps;
        }
        Steps now = at(steps, nowMs);
        OpenCharges.Correction correction =
                steps.open().then(LevelResponse.drained(drained(steps, now))).refunded(refund, refund.cost());
        return new Steps(Limit.addToLevel(now.used(), correction.change()), now.stepMs(), correction.open());
    }

    @Override
    public Steps forgotten(Steps steps, Charge charge) {
        return steps.open().contains(charge)
                ? new Steps(steps.used(), steps.stepMs(), steps.open().without(charge))
                : steps;
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
        Steps steps = (Steps) old.state();
        Steps now = bucket.at(steps, nowMs);
        return new Steps(
                Math.min(mostUsed, now.used()),
                now.stepMs(),
                steps.open().isEmpty()
                        ? OpenCharges.NONE
                        : steps.open().loweredTo(mostUsed, bucket.drained(steps, now)));
    }

    /**
     * Returns the tokens in use after the steps between two states; negative by the tokens that the steps could not add
     * because the bucket was full.
     */
    private long drained(Steps before, Steps after) {
        long added = Rate.saturatingMultiply((after.stepMs() - before.stepMs()) / perMs, tokens);
        return before.used() - added;
    }

    /**
     * Applies the steps up to {@code nowMs}. If the times of the steps have expired, {@code nowMs} becomes step zero.
     */
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

    /** Returns how long it takes from a step until {@code missing} tokens (1 or more) have been added. */
    private long refillMs(long missing) {
        if (missing <= tokens) {
            return perMs;
        }
        long stepsToGo = (missing - 1) / tokens + 1;
        return (missing <= burst ? stepsToGo : Math.min(stepsToGo, MAX_LEVEL / perMs)) * perMs;
    }

    /** Returns when the bucket has been full and idle for so long that the times of its steps expire. */
    private long phaseExpiresAtMs(Steps steps) {
        long toFullMs = steps.used() == 0 ? 0 : refillMs(steps.used());
        return steps.stepMs() + toFullMs + Math.max(perMs, PHASE_RETENTION_MS);
    }
}
