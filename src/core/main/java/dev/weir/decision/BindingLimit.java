package dev.weir.decision;

import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import java.util.function.Predicate;

/**
 * The limit that a decision is explained by.
 *
 * @param limit null if nothing is limited
 * @param retryAfterMs when the same cost passes if nothing else comes: 0 if it passed, null if it never can
 */
record BindingLimit(Policy policy, Reason reason, LimitStatus limit, Long retryAfterMs) {

    /**
     * Returns the limit that refuses for longest, of the policies of one kind: the first that never permits the
     * request, else the one with the longest retry; null if none refuses.
     */
    static BindingLimit longestRetry(PolicyCheck[] claims, Predicate<PolicyCheck> kind) {
        PolicyCheck longest = null;
        int index = 0;
        long longestMs = 0;
        boolean neverFits = false;
        for (PolicyCheck claim : claims) {
            if (!kind.test(claim)) {
                continue;
            }
            if (claim.rejects()) {
                return claim.isTooLarge() ? tooLarge(claim.policy()) : refund(claim.policy());
            }
            for (int i = 0; i < claim.size() && !neverFits; i++) {
                if (claim.refuses(i)) {
                    neverFits = claim.neverFits(i);
                    long retryMs = neverFits ? 0 : claim.retryAfterMs(i);
                    if (neverFits
                            || longest == null
                            || retryMs > longestMs
                            || (retryMs == longestMs && isUnlimited(longest, index))) {
                        longest = claim;
                        index = i;
                        longestMs = retryMs;
                    }
                }
            }
        }
        if (longest == null) {
            return null;
        }
        return neverFits
                ? of(longest, index, Reason.COST_NEVER_FITS, null)
                : of(
                        longest,
                        index,
                        longest.isLeaseMissing(index) ? Reason.QUOTA_NOT_AT_HAND : Reason.LIMIT_EXCEEDED,
                        longestMs);
    }

    /** Of the limits of policies that throttle, the one to wait for longest; one that is unlimited only if all are. */
    static BindingLimit longestDelay(PolicyCheck[] claims) {
        PolicyCheck longest = null;
        int index = 0;
        for (PolicyCheck claim : claims) {
            for (int i = 0; claim.throttles() && i < claim.size(); i++) {
                if (longest == null || claim.waitMs(i) > longest.waitMs(index) || isUnlimited(longest, index)) {
                    longest = claim;
                    index = i;
                }
            }
        }
        return of(longest, index, Reason.THROTTLED, 0L);
    }

    /**
     * The limit with the least remaining. Those of which only a part is at hand here stand back behind the others, and
     * behind all of them those of policies that only observe.
     */
    static BindingLimit leastRemaining(PolicyCheck[] claims, Reason reason) {
        PolicyCheck least = null;
        int index = 0;
        long remaining = 0;
        for (PolicyCheck claim : claims) {
            for (int i = 0; i < claim.size(); i++) {
                if (claim.mayBind(i) && !isUnlimited(claim, i)) {
                    long of = claim.remaining(i);
                    int order = least == null ? -1 : Integer.compare(rank(claim), rank(least));
                    if (order < 0 || (order == 0 && of < remaining)) {
                        least = claim;
                        index = i;
                        remaining = of;
                    }
                }
            }
        }
        return least == null ? unlimited(claims[0].policy(), reason, 0L) : of(least, index, reason, 0L);
    }

    private static int rank(PolicyCheck claim) {
        return claim.observes() ? 2 : claim.isShared() ? 1 : 0;
    }

    private static BindingLimit of(PolicyCheck claim, int index, Reason reason, Long retryAfterMs) {
        if (isUnlimited(claim, index)) {
            return unlimited(claim.policy(), reason, retryAfterMs);
        }
        Policy.Term term = claim.term(index);
        long windowMs = term.limit().windowMs(claim.clockMs());
        LimitStatus limit = new LimitStatus(
                term.label(),
                term.limit().capacity(),
                windowMs == 0 ? null : (Long) windowMs,
                claim.remaining(index),
                claim.resetAfterMs(index));
        return new BindingLimit(claim.policy(), reason, limit, retryAfterMs);
    }

    private static BindingLimit unlimited(Policy policy, Reason reason, Long retryAfterMs) {
        return new BindingLimit(policy, reason, null, retryAfterMs);
    }

    private static BindingLimit tooLarge(Policy policy) {
        return new BindingLimit(policy, Reason.TOO_LARGE, LimitStatus.of("max-size", policy.maxSizeBytes()), null);
    }

    /** The policy whose shared limits give nothing back. */
    private static BindingLimit refund(Policy policy) {
        return new BindingLimit(policy, Reason.SHARED_LIMIT_REFUND, LimitStatus.of("refund", null), null);
    }

    /** The policy that refuses a repeat with another content. */
    static BindingLimit mismatch(Policy policy) {
        return new BindingLimit(policy, Reason.IDEMPOTENCY_MISMATCH, LimitStatus.of("idempotency", null), null);
    }

    private static boolean isUnlimited(PolicyCheck claim, int index) {
        return claim.term(index).limit() instanceof Unlimited;
    }
}
