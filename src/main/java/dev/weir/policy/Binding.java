package dev.weir.policy;

import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.limit.Verdict;
import java.util.List;
import java.util.function.Predicate;

/**
 * The limit that a decision is explained by.
 *
 * @param label the limit's, null if nothing is limited
 * @param limit the most that it gives at once, null if nothing is limited
 * @param windowMs in which time that much comes, null if there is no such time
 * @param verdict what it says, null if it is no limit
 */
record Binding(Policy policy, Reason reason, String label, Long limit, Long windowMs, Verdict verdict) {

    /** Of the limits that refuse, in policies of one kind, the one to wait for longest; null if none does. */
    static Binding longestRetry(List<Ledger> ledgers, Predicate<Ledger> kind) {
        Binding longest = null;
        for (Ledger ledger : ledgers) {
            if (!kind.test(ledger)) {
                continue;
            }
            if (ledger.isTooLarge()) {
                Policy policy = ledger.policy();
                return new Binding(policy, Reason.TOO_LARGE, "max-size", policy.maxSizeBytes(), null, null);
            }
            for (int i = 0; i < ledger.size(); i++) {
                if (ledger.refuses(i)) {
                    Verdict verdict = ledger.verdict(i, false);
                    boolean asLong = longest != null && retryMs(verdict) == retryMs(longest.verdict);
                    if (longest == null
                            || retryMs(verdict) > retryMs(longest.verdict)
                            || (asLong && longest.limit == null)) {
                        Reason reason =
                                verdict instanceof Verdict.NeverFits ? Reason.COST_NEVER_FITS : Reason.LIMIT_EXCEEDED;
                        longest = of(ledger, i, reason, verdict);
                    }
                }
            }
        }
        return longest;
    }

    /** Of the limits of policies that throttle, the one to wait for longest; one that is unlimited only if all are. */
    static Binding longestDelay(List<Ledger> ledgers) {
        Ledger longest = null;
        int index = 0;
        for (Ledger ledger : ledgers) {
            for (int i = 0; ledger.throttles() && i < ledger.size(); i++) {
                if (longest == null
                        || ledger.waitMs(i) > longest.waitMs(index)
                        || longest.term(index).limit() instanceof Unlimited) {
                    longest = ledger;
                    index = i;
                }
            }
        }
        return of(longest, index, Reason.THROTTLED, longest.verdict(index, true));
    }

    /** The limit with the least remaining; those of policies that only observe stand back behind the others. */
    static Binding leastRemaining(List<Ledger> ledgers) {
        Reason reason = ledgers.get(0).request().kind() == Kind.SETTLE ? Reason.SETTLED : Reason.WITHIN_LIMITS;
        Binding least = null;
        for (Ledger ledger : ledgers) {
            for (int i = 0; i < ledger.size(); i++) {
                if (!(ledger.term(i).limit() instanceof Unlimited)) {
                    Verdict verdict = ledger.verdict(i, true);
                    boolean first = least == null
                            || (least.policy.observes() && !ledger.policy().observes());
                    boolean less = !first
                            && least.policy.observes() == ledger.policy().observes()
                            && verdict.remaining() < least.verdict.remaining();
                    if (first || less) {
                        least = of(ledger, i, reason, verdict);
                    }
                }
            }
        }
        return least == null ? new Binding(ledgers.get(0).policy(), reason, null, null, null, null) : least;
    }

    /** When the same cost passes if nothing else comes: 0 if it passed, null if it never can. */
    Long retryAfterMs() {
        return switch (reason) {
            case LIMIT_EXCEEDED -> retryMs(verdict);
            case COST_NEVER_FITS, TOO_LARGE -> null;
            default -> 0L;
        };
    }

    Long remaining() {
        return verdict == null || limit == null ? null : (Long) verdict.remaining();
    }

    Long resetAfterMs() {
        return verdict == null || limit == null ? null : (Long) verdict.resetAfterMs();
    }

    private static Binding of(Ledger ledger, int index, Reason reason, Verdict verdict) {
        Policy.Term term = ledger.term(index);
        Limit<?> limit = term.limit();
        if (limit instanceof Unlimited) {
            return new Binding(ledger.policy(), reason, null, null, null, verdict);
        }
        long windowMs = limit.windowMs(ledger.clockMs());
        Long window = windowMs == 0 ? null : (Long) windowMs;
        return new Binding(ledger.policy(), reason, term.label(), limit.capacity(), window, verdict);
    }

    private static long retryMs(Verdict verdict) {
        return verdict instanceof Verdict.Denied denied ? denied.retryAfterMs() : Long.MAX_VALUE;
    }
}
