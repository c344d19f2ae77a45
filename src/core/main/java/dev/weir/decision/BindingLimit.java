package dev.weir.decision;

import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import java.util.function.Predicate;

/**
 * The limit that explains a decision.
 *
 * @param policy the policy of the limit
 * @param reason the reason of the decision
 * @param limit the status of the limit, null if nothing is limited
 * @param retryAfterMs how long until the same cost passes if nothing else arrives; 0 if it passed, null if it never can
 */
record BindingLimit(Policy policy, Reason reason, LimitStatus limit, Long retryAfterMs) {

    /**
     * Returns the refusing limit with the longest retry time among the policies of one kind, or the first limit that
     * never permits the request; null if none refuses. Policies that only observe must not be among them.
     */
    static BindingLimit longestRetry(PolicyCheck[] checks, Predicate<PolicyCheck> kind) {
        PolicyCheck longest = null;
        int index = 0;
        long longestMs = 0;
        boolean neverFits = false;
        for (PolicyCheck check : checks) {
            if (!kind.test(check)) {
                continue;
            }
            if (check.rejects()) {
                return check.of.isTooLarge() ? tooLarge(check.policy()) : refund(check.policy());
            }
            for (int i = 0; i < check.size() && !neverFits; i++) {
                if (check.refuses(i)) {
                    neverFits = check.neverFits(i);
                    long retryMs = neverFits ? 0 : check.retryAfterMs(i);
                    if (neverFits
                            || longest == null
                            || retryMs > longestMs
                            || (retryMs == longestMs && isUnlimited(longest, index))) {
                        longest = check;
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

    /**
     * Returns the limit with the least remaining; of these, the one that delays the request longest. Shared limits of
     * which it is unknown come after the others.
     */
    static BindingLimit leastRemaining(PolicyCheck[] checks, Reason reason) {
        PolicyCheck least = null;
        int leastUnknown = Integer.MAX_VALUE;
        int index = 0;
        long remaining = 0;
        for (PolicyCheck check : checks) {
            for (int i = 0; i < check.size(); i++) {
                if (check.mayBind(i) && !isUnlimited(check, i)) {
                    Long of = check.remaining(i);
                    int unknown = of == null ? 1 : 0;
                    long known = of == null ? 0 : of;
                    int order = least == null ? -1 : Integer.compare(unknown, leastUnknown);
                    order = order == 0 ? Long.compare(known, remaining) : order;
                    if (order < 0 || (order == 0 && check.waitMs(i) > least.waitMs(index))) {
                        least = check;
                        leastUnknown = unknown;
                        index = i;
                        remaining = known;
                    }
                }
            }
        }
        return least == null ? unlimited(checks, reason) : of(least, index, reason, 0L);
    }

    /** Returns the explanation of a decision without limits, by the policy that delays the request, or else the first. */
    private static BindingLimit unlimited(PolicyCheck[] checks, Reason reason) {
        PolicyCheck first = checks[0];
        for (int i = checks.length - 1; i >= 0 && reason == Reason.THROTTLED; i--) {
            first = checks[i].of.throttles() ? checks[i] : first;
        }
        return unlimited(first.policy(), reason, 0L);
    }

    private static BindingLimit of(PolicyCheck check, int index, Reason reason, Long retryAfterMs) {
        if (isUnlimited(check, index)) {
            return unlimited(check.policy(), reason, retryAfterMs);
        }
        Policy.Term term = check.term(index);
        long windowMs = term.limit().windowMs(check.clockMs());
        LimitStatus limit = new LimitStatus(
                term.label(),
                term.limit().capacity(),
                windowMs == 0 ? null : (Long) windowMs,
                check.remaining(index),
                check.resetAfterMs(index));
        return new BindingLimit(check.policy(), reason, limit, retryAfterMs);
    }

    private static BindingLimit unlimited(Policy policy, Reason reason, Long retryAfterMs) {
        return new BindingLimit(policy, reason, null, retryAfterMs);
    }

    private static BindingLimit tooLarge(Policy policy) {
        return new BindingLimit(policy, Reason.TOO_LARGE, LimitStatus.of("max-size", policy.maxSizeBytes()), null);
    }

    /** Returns this limit with another retry time. */
    BindingLimit withRetryAfterMs(Long other) {
        return new BindingLimit(policy, reason, limit, other);
    }

    /** Returns the denial of a refund by a policy with shared limits. */
    static BindingLimit refund(Policy policy) {
        return new BindingLimit(policy, Reason.SHARED_LIMIT_REFUND, LimitStatus.of("refund", null), null);
    }

    /** Returns the denial of a repeat with different content. */
    static BindingLimit mismatch(Policy policy) {
        return new BindingLimit(policy, Reason.IDEMPOTENCY_MISMATCH, LimitStatus.of("idempotency", null), null);
    }

    private static boolean isUnlimited(PolicyCheck check, int index) {
        return check.term(index).limit() instanceof Unlimited;
    }
}
