package dev.weir.spring;

import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;
import java.util.Optional;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ResponseStatus;

/**
 * Indicates that Weir did not allow a call of a {@link RateLimited} method, or that too many calls wait for the delay
 * of a policy that throttles. If a controller throws it, the response has the status and the {@code RateLimit} fields
 * of the decision ({@link RateLimitedAdvice}).
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

    private RateLimitedException(ClientDecision decision, String message) {
        super(message);
        this.decision = decision;
    }

    /**
     * Returns the exception for a call that is allowed after a delay, but not made, because too many threads are
     * blocked by delays. Its decision is a denial with the delay as retry time.
     */
    static RateLimitedException tooManyBlocked(String operation, ClientDecision answer, int maxThreads) {
        Decision throttled = answer.decision().orElseThrow();
        Decision denied = throttled
                .withStatus(new Decision.Status(
                        Outcome.DENIED, Reason.LIMIT_EXCEEDED, HttpStatus.TOO_MANY_REQUESTS.value()))
                .withRetryAfterMs(throttled.delayMs());
        return new RateLimitedException(
                ClientDecision.of(denied),
                operation + ": throttled by policy " + throttled.policyId()
                        + ", but as many threads as permitted are blocked (weir.max-blocked-threads: " + maxThreads
                        + "); retry after " + DurationsAndSizes.duration(throttled.delayMs()));
    }

    private static String message(String operation, ClientDecision answer) {
        if (answer.decision().isEmpty()) {
            String why = answer.noDecisionReason().map(Enum::name).orElse("unknown");
            return operation + ": no decision (" + why + "), and the fallback denies";
        }
        Decision decision = answer.decision().get();
        String retry = decision.retryAfterMs() == null || decision.retryAfterMs() == 0
                ? ""
                : "; retry after " + DurationsAndSizes.duration(decision.retryAfterMs());
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
