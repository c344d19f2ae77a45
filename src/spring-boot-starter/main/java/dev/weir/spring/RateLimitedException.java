package dev.weir.spring;

import dev.weir.client.ClientDecision;
import dev.weir.event.Decision;
import java.time.Duration;
import java.util.Optional;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ResponseStatus;

/**
 * Indicates that Weir did not allow a call of a {@link RateLimited} method. If a controller throws it, the response has
 * the status and the {@code RateLimit} fields of the decision ({@link RateLimitedAdvice}).
 */
@ResponseStatus(HttpStatus.TOO_MANY_REQUESTS)
public class RateLimitedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient ClientDecision decision;

    /**
     * Creates an exception.
     *
     * @param operation the operation, for the message
     * @param decision the decision, which is not allowed
     */
    public RateLimitedException(String operation, ClientDecision decision) {
        super(message(operation, decision));
        this.decision = decision;
    }

    private static String message(String operation, ClientDecision answer) {
        if (answer.decision().isEmpty()) {
            String why = answer.noDecisionReason().map(Enum::name).orElse("unknown");
            return operation + ": no decision (" + why + "), and the fallback denies";
        }
        Decision decision = answer.decision().get();
        String retry = decision.retryAfterMs() == null || decision.retryAfterMs() == 0
                ? ""
                : "; retry after " + decision.retryAfterMs() + " ms";
        return operation + ": " + decision.outcome() + " by policy " + decision.policyId() + ", " + decision.reason()
                + retry;
    }

    /**
     * Returns the decision.
     *
     * @return the decision; null if the exception was deserialized
     */
    public ClientDecision decision() {
        return decision;
    }

    /**
     * Returns how long until the same call passes if nothing else is charged.
     *
     * @return the time; empty if there is no decision, or if a later call cannot pass
     */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(decision)
                .flatMap(ClientDecision::decision)
                .map(Decision::retryAfterMs)
                .map(Duration::ofMillis);
    }
}
