package dev.weir.policy;

import dev.weir.limit.Unlimited;
import java.util.function.Predicate;

/**
 * The limit that a decision is explained by.
 *
 * @param label the limit's, null if nothing is limited
 * @param limit the most that it gives at once, null if nothing is limited
 * @param windowMs in which time that much comes, null if there is no such time
 * @param remaining what can still be had of it, null if it is no limit
 * @param resetAfterMs when the whole of it is free again, null if it is no limit
 * @param retryAfterMs when the same cost passes if nothing else comes: 0 if it passed, null if it never can
 */
record Binding(
        Policy policy,
        Reason reason,
        String label,
        Long limit,
        Long windowMs,
        Long remaining,
        Long resetAfterMs,
        Long retryAfterMs) {

    /** Of the limits that refuse, in policies of one kind, the one to wait for longest; null if none does. */
    static Binding longestRetry(Ledger[] ledgers, Predicate<Ledger> kind) {
        Ledger longest = null;
        int index = 0;
        long longestMs = 0;
        for (Ledger ledger : ledgers) {
            if (!kind.test(ledger)) {
                continue;
            }
            if (ledger.isTooLarge()) {
                return tooLarge(ledger.policy());
            }
            for (int i = 0; i < ledger.size(); i++) {
                if (ledger.refuses(i)) {
                    long retryMs = ledger.retryAfterMs(i);
                    if (longest == null
                            || retryMs > longestMs
                            || (retryMs == longestMs && isUnlimited(longest, index))) {
                        longest = ledger;
                        index = i;
                        longestMs = retryMs;
                    }
                }
            }
        }
        if (longest == null) {
            return null;
        }
        return longestMs == Long.MAX_VALUE
                ? of(longest, index, Reason.COST_NEVER_FITS, null)
                : of(longest, index, Reason.LIMIT_EXCEEDED, longestMs);
    }

    /** Of the limits of policies that throttle, the one to wait for longest; one that is unlimited only if all are. */
    static Binding longestDelay(Ledger[] ledgers) {
        Ledger longest = null;
        int index = 0;
        for (Ledger ledger : ledgers) {
            for (int i = 0; ledger.throttles() && i < ledger.size(); i++) {
                if (longest == null || ledger.waitMs(i) > longest.waitMs(index) || isUnlimited(longest, index)) {
                    longest = ledger;
                    index = i;
                }
            }
        }
        return of(longest, index, Reason.THROTTLED, 0L);
    }

    /** The limit with the least remaining; those of policies that only observe stand back behind the others. */
    static Binding leastRemaining(Ledger[] ledgers, Reason reason) {
        Ledger least = null;
        int index = 0;
        long remaining = 0;
        for (Ledger ledger : ledgers) {
            for (int i = 0; i < ledger.size(); i++) {
                if (!isUnlimited(ledger, i)) {
                    long of = ledger.remaining(i);
                    boolean first = least == null || (least.observes() && !ledger.observes());
                    if (first || (least.observes() == ledger.observes() && of < remaining)) {
                        least = ledger;
                        index = i;
                        remaining = of;
                    }
                }
            }
        }
        return least == null ? unlimited(ledgers[0].policy(), reason, 0L) : of(least, index, reason, 0L);
    }

    private static Binding of(Ledger ledger, int index, Reason reason, Long retryAfterMs) {
        if (isUnlimited(ledger, index)) {
            return unlimited(ledger.policy(), reason, retryAfterMs);
        }
        Policy.Term term = ledger.term(index);
        long windowMs = term.limit().windowMs(ledger.clockMs());
        return new Binding(
                ledger.policy(),
                reason,
                term.label(),
                term.limit().capacity(),
                windowMs == 0 ? null : (Long) windowMs,
                ledger.remaining(index),
                ledger.resetAfterMs(index),
                retryAfterMs);
    }

    private static Binding unlimited(Policy policy, Reason reason, Long retryAfterMs) {
        return new Binding(policy, reason, null, null, null, null, null, retryAfterMs);
    }

    private static Binding tooLarge(Policy policy) {
        return new Binding(policy, Reason.TOO_LARGE, "max-size", policy.maxSizeBytes(), null, null, null, null);
    }

    private static boolean isUnlimited(Ledger ledger, int index) {
        return ledger.term(index).limit() instanceof Unlimited;
    }
}
