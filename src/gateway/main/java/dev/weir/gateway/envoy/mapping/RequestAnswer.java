package dev.weir.gateway.envoy.mapping;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.util.Optional;

/**
 * The answer to a request of a call: a decision or the fallback's.
 *
 * @param request the request
 * @param decision a decision
 * @param isOverLimit whether the request must not proceed
 */
public record RequestAnswer(MappedRequest request, ClientDecision decision, boolean isOverLimit) {

    /**
     * Returns the answer with a decision. A refund is never over the limit, even if it is denied: it asks for nothing.
     *
     * @param canWait whether the caller can wait for the delay of the decision
     */
    public static RequestAnswer of(MappedRequest request, ClientDecision decision, boolean canWait) {
        boolean isAllowed = decision.allowed() && (canWait || delayMs(decision) == 0);
        return new RequestAnswer(request, decision, !isAllowed && !request.isRefund());
    }

    /** Returns how long a request must be delayed, in milliseconds. */
    public static long delayMs(ClientDecision decision) {
        return decision.allowed() ? decision.decision().map(Decision::delayMs).orElse(0L) : 0;
    }

    public Optional<Decision> weir() {
        return decision.decision();
    }

    public Optional<NoDecisionReason> fallback() {
        return decision.noDecisionReason();
    }

    /** Returns whether a policy with limits decided. */
    public boolean hasLimit() {
        return weir().filter(one -> one.limit() != null && one.remaining() != null)
                .isPresent();
    }

    /** Returns whether a policy matches that permits everything. */
    public boolean isUnlimited() {
        return weir().filter(
                        one -> one.outcome() == Outcome.ALLOWED && one.policy() != null && one.bindingLimit() == null)
                .isPresent();
    }
}
