package dev.weir.decision;

import dev.weir.event.LimitOverride;
import dev.weir.limit.LimitAccount;

/**
 * A charge that counts from the start of its request on, because a policy of another layer delays that request.
 *
 * @param startMs when the request starts, in milliseconds since the epoch
 * @param cost tokens, above 0
 * @param override the limit of the request, null if it has none or its policy allows none
 */
public record DelayedCharge(long startMs, long cost, LimitOverride override) {

    /** Returns an account with the limit that applied to the request. */
    LimitAccount<?> ofRequest(LimitAccount<?> account) {
        return override == null ? account : account.withTokens(override.limit(), override.windowMs());
    }

    /** Returns the account, with its own limit, after the charge. */
    LimitAccount<?> chargeTo(LimitAccount<?> account) {
        return override == null
                ? account.charge(cost, startMs)
                : account.withUsageOf(ofRequest(account).charge(cost, startMs));
    }
}
