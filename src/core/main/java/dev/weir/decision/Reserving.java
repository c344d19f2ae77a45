package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Concurrency;
import dev.weir.policy.Policy;

/**
 * The reservation that a request creates if it passes.
 *
 * @param number its number, above 0; 0 for {@link #NONE}
 * @param isHidden whether only observing policies ask for it
 * @param decidedAtMs the time of the decision, in milliseconds since the epoch
 * @param delayMs how long after the decision it starts
 * @param durationMs how long after the start it ends
 */
record Reserving(long number, boolean isHidden, long decidedAtMs, long delayMs, long durationMs) {

    /** The request creates no reservation. */
    static final Reserving NONE = new Reserving(0, true, 0, 0, 0);

    /** Returns whether a request asks for a reservation, or one of its policies does; of a PEEK, whether a CONSUME would. */
    static boolean isWanted(Request request, Policy[] applicable) {
        if (request.kind() != RequestKind.CONSUME && request.kind() != RequestKind.PEEK) {
            return false;
        }
        if (request.reserveMs() != null) {
            return true;
        }
        for (Policy policy : applicable) {
            if (policy.limitsConcurrency()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the reservation of a request that {@linkplain #isWanted asks} for one. It lasts as long as the request says,
     * and at most as long as the slots of each policy that does not only observe. If only observing policies ask for it,
     * it lasts as long as the slots of any. It starts with a delayed request but, if it uses slots of shared limits, so
     * early that it ends within their {@code ttl}: so long the ledger counts a slot of which it has no report.
     */
    static Reserving of(Request request, Evaluation evaluated, long number) {
        boolean isHidden = request.reserveMs() == null;
        long shortestMs = isHidden ? Long.MAX_VALUE : request.reserveMs();
        long longestMs = 0;
        long latestEndMs = Long.MAX_VALUE; // after the decision
        for (PolicyCheck check : evaluated.checks()) {
            if (check.policy().limitsConcurrency()) {
                long ttlMs = shortestTtlMs(check.policy());
                isHidden = isHidden && check.observes();
                shortestMs = check.observes() ? shortestMs : Math.min(shortestMs, ttlMs);
                longestMs = Math.max(longestMs, ttlMs);
                latestEndMs = check.isShared() && !check.observes() ? Math.min(latestEndMs, ttlMs) : latestEndMs;
            }
        }
        long durationMs = isHidden ? longestMs : shortestMs;
        long delayMs = Math.min(evaluated.throttling().delayMs(), latestEndMs - durationMs);
        long decidedAtMs = Math.max(evaluated.nowMs(), evaluated.leaseTimeMs());
        return new Reserving(number, isHidden, decidedAtMs, delayMs, durationMs);
    }

    private static long shortestTtlMs(Policy policy) {
        long shortestMs = Long.MAX_VALUE;
        for (Policy.Term term : policy.terms()) {
            if (term.limit() instanceof Concurrency concurrency) {
                shortestMs = Math.min(shortestMs, concurrency.ttlMs());
            }
        }
        return shortestMs;
    }

    boolean isPresent() {
        return number > 0;
    }

    /**
     * Returns whether the reservation holds what is charged to a policy: a hidden one only if the policy observes, since
     * its end must not change other answers.
     */
    boolean holds(PolicyCheck check) {
        return isPresent() && (!isHidden || check.observes());
    }

    /** Returns how long the slots of a policy are in use if they are not freed. */
    long slotMs(Policy policy) {
        return Math.min(durationMs, shortestTtlMs(policy));
    }

    /** Returns when the slots of a shared policy end that are taken at a time of its ledger, not after the {@code ttl}. */
    long lentSlotsEndMs(Policy policy, long atMs) {
        long ttlMs = shortestTtlMs(policy);
        return atMs + (isPresent() ? Math.min(delayMs + slotMs(policy), ttlMs) : ttlMs);
    }

    long startMs() {
        return decidedAtMs + delayMs;
    }

    long endMs() {
        return startMs() + durationMs;
    }

    /** Returns when the reservation ends, by the clock of a decision's time. */
    long endMs(long decidedAt) {
        return decidedAt + delayMs + durationMs;
    }
}
