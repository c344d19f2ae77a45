package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import java.util.Optional;

/** What {@link WeirClient#decide} returns if Weir does not decide in time. */
public enum Fallback {
    /**
     * The request is allowed. While Weir is unavailable, limits may be exceeded. Requests that are shed because there
     * are too many are refused, unless {@link ClientBuilder#fallbackOnOverload} is set.
     */
    FAIL_OPEN,
    /** The request is not allowed. While Weir is unavailable, no request passes. */
    FAIL_CLOSED,
    /** The future fails with a {@link NoDecisionException}. */
    FAIL;

    /**
     * Returns the decision on a request that Weir has not decided.
     *
     * @param reason why there is no decision by Weir
     * @return the decision, which refuses the request because of {@linkplain NoDecisionReason#isOverload overload} even
     *     if this is {@link #FAIL_OPEN}; empty if this is {@link #FAIL}
     */
    public Optional<ClientDecision> decision(NoDecisionReason reason) {
        return decision(reason, false);
    }

    /** @param isForOverload whether {@link #FAIL_OPEN} also allows requests because of overload */
    Optional<ClientDecision> decision(NoDecisionReason reason, boolean isForOverload) {
        boolean isAllowed = this == FAIL_OPEN && (isForOverload || !reason.isOverload());
        return this == FAIL ? Optional.empty() : Optional.of(ClientDecision.fallback(isAllowed, reason));
    }
}
