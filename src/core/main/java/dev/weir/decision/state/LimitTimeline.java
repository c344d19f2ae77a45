package dev.weir.decision.state;

import dev.weir.event.LimitOverride;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.List;

/**
 * The usage of one limit over time: what is charged, and the charges of delayed requests that start later. A request
 * can pass between them if the limit permits it, and then still permits each of them.
 *
 * <pre>
 *   permits(c, t)  ⟺  the limit permits c at t, after the charges up to t,
 *                     and no later charge that would fit without c does not fit with it
 * </pre>
 *
 * @param account the usage before the delayed charges
 * @param delayed the delayed charges, by start; none starts before the last charge of the account
 * @param override the limit of the request that is checked, null for the limit's own
 */
// All algorithms have one property in common: if c at t takes from a later charge at s, then c at any time between t
// and s takes from it too. So if a cost conflicts with a charge, the next time to try is the start of that charge.
public record LimitTimeline(LimitAccount<?> account, List<DelayedCharge> delayed, LimitOverride override) {

    /** After so many steps, the search for a time goes on after the last delayed charge, where it ends. */
    private static final int MAX_STEPS = 50;

    /** With more delayed charges, what remains is a lower bound: all of them count as charged. */
    private static final int MAX_SEARCHED = 64;

    private static final long NONE = Long.MIN_VALUE;

    /** Returns whether {@code cost} can be taken at {@code atMs}. */
    public boolean permits(long cost, long atMs) {
        if (cost == 0) {
            return true;
        }
        LimitTimeline now = at(atMs);
        return now.ofRequest().permits(cost, atMs) && now.lastConflictMs(cost, atMs) == NONE;
    }

    /**
     * Returns the first time from {@code fromMs} on at which {@code cost} is permitted; a later one if many delayed
     * charges leave little room.
     *
     * @param cost tokens; the cost must fit the limit
     */
    public long nextPermittedMs(long cost, long fromMs) {
        if (cost == 0) {
            return fromMs;
        }
        long atMs = fromMs;
        long nextMs = nextTrialMs(cost, atMs);
        for (int steps = 1; nextMs > atMs; steps++) {
            boolean goesToEnd = steps == MAX_STEPS && !delayed.isEmpty();
            atMs = goesToEnd ? Math.max(nextMs, delayed.get(delayed.size() - 1).startMs()) : nextMs;
            nextMs = nextTrialMs(cost, atMs);
        }
        return atMs;
    }

    /** Returns {@code atMs} if {@code cost} is permitted then; otherwise the first later time at which it may be. */
    private long nextTrialMs(long cost, long atMs) {
        LimitTimeline now = at(atMs);
        long waitMs = now.ofRequest().permits(cost, atMs) ? 0 : now.ofRequest().waitMs(cost, atMs);
        return waitMs > 0 ? atMs + waitMs : Math.max(atMs, now.lastConflictMs(cost, atMs));
    }

    /** Returns the largest cost that is permitted at {@code atMs}, or a lower bound if many delayed charges follow. */
    public long remaining(long atMs) {
        LimitTimeline now = at(atMs);
        long high = now.ofRequest().remaining(atMs);
        if (now.lastConflictMs(high, atMs) == NONE) {
            return high;
        }
        long low = now.hasOverrides() ? 0 : Math.max(0, high - now.delayedCost());
        while (now.delayed.size() <= MAX_SEARCHED && low + 1 < high) {
            long middle = low + (high - low) / 2;
            if (now.lastConflictMs(middle, atMs) == NONE) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Returns when the whole limit is available, which is after all delayed charges. */
    public long resetAtMs(long atMs) {
        long lastMs = delayed.isEmpty()
                ? atMs
                : Math.max(atMs, delayed.get(delayed.size() - 1).startMs());
        return lastMs + at(lastMs).ofRequest().resetAfterMs(lastMs);
    }

    /** Returns the timeline after the charges that start up to {@code atMs}. */
    private LimitTimeline at(long atMs) {
        LimitAccount<?> now = account;
        int started = 0;
        while (started < delayed.size() && delayed.get(started).startMs() <= atMs) {
            now = delayed.get(started).chargeTo(now);
            started++;
        }
        return started == 0 ? this : new LimitTimeline(now, delayed.subList(started, delayed.size()), override);
    }

    private LimitAccount<?> ofRequest() {
        return override == null ? account : account.withTokens(override.limit(), override.windowMs());
    }

    /** Returns the start of the last delayed charge that does not fit if {@code cost} is taken at {@code atMs}. */
    private long lastConflictMs(long cost, long atMs) {
        if (delayed.isEmpty() || cost == 0 || fitsBeforeAll(cost, atMs)) {
            return NONE;
        }
        LimitAccount<?> with = new DelayedCharge(atMs, cost, override).chargeTo(account);
        LimitAccount<?> without = account;
        long lastMs = NONE;
        for (DelayedCharge charge : delayed) {
            long startMs = charge.startMs();
            LimitAccount<?> tried = charge.ofRequest(with);
            boolean fits = tried.permits(charge.cost(), startMs);
            if (!fits && tried.used(startMs) > charge.ofRequest(without).used(startMs)) {
                lastMs = startMs;
            }
            with = charge.chargeTo(with);
            without = charge.chargeTo(without);
        }
        return lastMs;
    }

    /** Returns whether all delayed charges would fit even if they started now; then they fit later too. */
    private boolean fitsBeforeAll(long cost, long atMs) {
        return !hasOverrides() && account.permits(Limit.addToLevel(delayedCost(), cost), atMs);
    }

    private long delayedCost() {
        long sum = 0;
        for (DelayedCharge charge : delayed) {
            sum = Limit.addToLevel(sum, charge.cost());
        }
        return sum;
    }

    private boolean hasOverrides() {
        return override != null || delayed.stream().anyMatch(charge -> charge.override() != null);
    }
}
