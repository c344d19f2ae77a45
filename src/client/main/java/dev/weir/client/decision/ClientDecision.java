package dev.weir.client.decision;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A decision as {@link dev.weir.client.WeirClient#decide} returns it: Weir's, or that of the client's
 * {@link dev.weir.client.Fallback}. Exactly one of {@code decision} and {@code noDecisionReason} is present.
 *
 * @param allowed whether the request may proceed: at once, or after {@link Decision#delayMs} if the decision has a
 *     delay. {@code false} for a queued request, which may proceed when its release arrives
 * @param decision Weir's decision; empty if the fallback was used
 * @param noDecisionReason why there is no decision by Weir; empty if there is one
 */
public record ClientDecision(
        boolean allowed, Optional<Decision> decision, Optional<NoDecisionReason> noDecisionReason) {

    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;

    /**
     * Checks that there is either a decision or a reason.
     *
     * @param allowed whether the request may proceed
     * @param decision Weir's decision; empty if the fallback was used
     * @param noDecisionReason why there is no decision by Weir; empty if there is one
     * @throws IllegalArgumentException if there are both or none
     */
    public ClientDecision {
        if (decision.isPresent() == noDecisionReason.isPresent()) {
            throw new IllegalArgumentException("either decision or noDecisionReason is required");
        }
    }

    /**
     * Returns a decision by Weir.
     *
     * @param decision the decision
     * @return the same decision, with what it means for the caller
     */
    public static ClientDecision of(Decision decision) {
        return new ClientDecision(decision.outcome() == Outcome.ALLOWED, Optional.of(decision), Optional.empty());
    }

    /**
     * Returns a decision that is not Weir's. {@link dev.weir.client.Fallback#decision} returns that of a fallback.
     *
     * @param allowed whether the request may proceed
     * @param reason why there is no decision by Weir
     * @return a decision without Weir's
     */
    public static ClientDecision fallback(boolean allowed, NoDecisionReason reason) {
        return new ClientDecision(allowed, Optional.empty(), Optional.of(reason));
    }

    /**
     * Returns the status of the HTTP response: that of the decision; without a decision, 200 if the request is allowed
     * and 503 if not.
     *
     * @return an HTTP status code
     */
    public int httpStatus() {
        return decision.map(Decision::httpStatus).orElse(allowed ? OK : UNAVAILABLE);
    }

    /**
     * Returns the rate-limit fields of the HTTP response, as {@link RateLimitHeaders#of(Decision)} creates them.
     *
     * @return the values by field name, unmodifiable; empty if there is no decision
     */
    public Map<String, String> httpHeaders() {
        return httpHeaders(XRateLimitFields.NONE);
    }

    /**
     * Returns the rate-limit fields of the HTTP response, as {@link RateLimitHeaders#of(List, XRateLimitFields)} creates
     * them.
     *
     * @param older which older fields are added
     * @return the values by field name, unmodifiable; empty if there is no decision
     */
    public Map<String, String> httpHeaders(XRateLimitFields older) {
        return decision.map(decided -> RateLimitHeaders.of(List.of(decided), older))
                .orElse(Map.of());
    }
}
