package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.util.Map;
import java.util.Optional;

/**
 * What a caller goes by: Weir's decision, or what the client made up because there is none. One of {@code decision} and
 * {@code unanswered} is there.
 *
 * @param allowed whether the request may go on now, or {@code delayMs} from now where the decision says so; what waits
 *     in a queue may not, its release tells when
 * @param decision Weir's, if it answered
 * @param noDecisionReason why there is none
 */
public record ClientDecision(
        boolean allowed, Optional<Decision> decision, Optional<NoDecisionReason> noDecisionReason) {

    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;

    static ClientDecision of(Decision decision) {
        return new ClientDecision(decision.outcome() == Outcome.ALLOWED, Optional.of(decision), Optional.empty());
    }

    static ClientDecision fallback(boolean allowed, NoDecisionReason why) {
        return new ClientDecision(allowed, Optional.empty(), Optional.of(why));
    }

    /** What a gateway answers: the decision's; without one, 200 or 503. */
    public int httpStatus() {
        return decision.map(Decision::httpStatus).orElse(allowed ? OK : UNAVAILABLE);
    }

    /** The fields that go with it, by {@link RateLimitHeaders}; none where there is no decision. */
    public Map<String, String> httpHeaders() {
        return decision.map(RateLimitHeaders::of).orElse(Map.of());
    }
}
