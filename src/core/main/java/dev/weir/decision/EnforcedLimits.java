package dev.weir.decision;

import dev.weir.event.EnforcedLimit;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;

/**
 * Lists the limits that are enforced on a request, in the order of layers and of their policies. Of more than
 * {@value EnforcedLimit#MOST}, those that refuse the request are listed first of all, then the others.
 *
 * <p>Of shared limits that are lent together, what remains of the tightest is known. When they permit the request, and
 * when they are free again, is not.
 *
 * <p>Not listed are limits of policies that observe, and limits that count nothing. A limit of 0 whose policy
 * shadow-bans is not listed either: clients must not learn of it.
 */
final class EnforcedLimits {

    private EnforcedLimits() {}

    static List<EnforcedLimit> of(PolicyCheck[] checks) {
        int refusing = 0;
        int all = 0;
        for (PolicyCheck check : checks) {
            for (int i = 0; i < check.size(); i++) {
                if (isListed(check.policy(), check.term(i))) {
                    all++;
                    refusing += refuses(check, i) ? 1 : 0;
                }
            }
        }
        int others = Math.max(0, EnforcedLimit.MOST - refusing);
        List<EnforcedLimit> listed = new ArrayList<>(Math.min(all, EnforcedLimit.MOST));
        for (PolicyCheck check : checks) {
            for (int i = 0; i < check.size() && listed.size() < EnforcedLimit.MOST; i++) {
                boolean refuses = refuses(check, i);
                if (isListed(check.policy(), check.term(i)) && (refuses || others-- > 0)) {
                    listed.add(of(check, i, refuses));
                }
            }
        }
        return listed;
    }

    private static boolean refuses(PolicyCheck check, int index) {
        return !check.isShared() && check.refuses(index);
    }

    private static EnforcedLimit of(PolicyCheck check, int index, boolean refuses) {
        boolean isUnknown = check.isShared() || (refuses && check.neverFits(index));
        Long retryAfterMs = isUnknown ? null : refuses ? (Long) check.retryAfterMs(index) : (Long) 0L;
        return of(
                check.policy(),
                index,
                check.term(index),
                check.clockMs(),
                check.mayBind(index) ? check.remaining(index) : null,
                check.resetAfterMs(index),
                retryAfterMs);
    }

    static boolean isListed(Policy policy, Policy.Term term) {
        return !policy.observes()
                && !(term.limit() instanceof Unlimited)
                && !(policy.onExceed() instanceof OnExceed.ShadowBan
                        && term.limit().capacity() == 0);
    }

    static EnforcedLimit of(
            Policy policy,
            int index,
            Policy.Term term,
            long clockMs,
            Long remaining,
            Long resetAfterMs,
            Long retryAfterMs) {
        Limit<?> limit = term.limit();
        long tokens = limit.rateTokens();
        long perMs = limit.ratePeriodMs(clockMs);
        long times = tokens == 0 ? 1 : Math.max(1, -Math.floorDiv(-limit.capacity(), tokens));
        return new EnforcedLimit(
                policy.id(),
                index + 1,
                times(tokens, times),
                perMs == 0 ? null : (Long) times(perMs, times),
                remaining,
                resetAfterMs,
                retryAfterMs);
    }

    /** Returns the product, at most {@link Long#MAX_VALUE}. */
    private static long times(long value, long times) {
        return Math.multiplyHigh(value, times) == 0 && value * times >= 0 ? value * times : Long.MAX_VALUE;
    }
}
