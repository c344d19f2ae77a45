package dev.weir.client;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import java.time.Duration;

/**
 * The settings of a client's circuit breaker, which is
 * <a href="https://resilience4j.readme.io/docs/circuitbreaker">that of Resilience4j</a>. If {@code failurePercent} or
 * more of the last {@code window} requests timed out or could not be written, the circuit opens: for {@code openFor} no
 * request is sent, and requests end with {@link NoDecisionReason#CIRCUIT_OPEN}. Then {@code trials} requests are sent.
 * Depending on their results, the circuit closes or opens again.
 *
 * @param window the number of recent requests that are evaluated, at least 1. The circuit cannot open before that many
 *     requests have ended
 * @param failurePercent the percentage of failed requests at which the circuit opens, 1 to 100
 * @param openFor how long the circuit stays open, at least 1 ms. It should be longer than the client's time-out, so
 *     that requests sent before do not count as trials
 * @param trials the number of requests that are sent before the circuit closes or opens again, at least 1
 */
public record CircuitSettings(int window, int failurePercent, Duration openFor, int trials) {

    /** Opens if 50 % of the last 100 requests failed, for 5 s, with 5 trials. */
    public static final CircuitSettings DEFAULT = new CircuitSettings(100, 50, Duration.ofSeconds(5), 5);

    /** The state of a circuit. */
    public enum State {
        /** Requests are sent. */
        CLOSED,
        /** No request is sent. */
        OPEN,
        /** Trials are sent. */
        HALF_OPEN
    }

    /**
     * Checks the ranges.
     *
     * @param window the number of recent requests that are evaluated, at least 1. The circuit cannot open before
     *     that many requests have ended
     * @param failurePercent the percentage of failed requests at which the circuit opens, 1 to 100
     * @param openFor how long the circuit stays open, at least 1 ms. It should be longer than the client's time-out,
     *     so that requests sent before do not count as trials
     * @param trials the number of requests that are sent before the circuit closes or opens again, at least 1
     * @throws IllegalArgumentException if a value is out of its range
     */
    public CircuitSettings {
        require(window >= 1, "window must be at least 1", window);
        require(failurePercent >= 1 && failurePercent <= 100, "failurePercent must be 1 to 100", failurePercent);
        require(openFor.toMillis() >= 1, "openFor must be at least 1 ms", openFor);
        require(trials >= 1, "trials must be at least 1", trials);
    }

    CircuitBreaker breaker() {
        return CircuitBreaker.of(
                "weir",
                CircuitBreakerConfig.custom()
                        .slidingWindow(window, window, CircuitBreakerConfig.SlidingWindowType.COUNT_BASED)
                        .failureRateThreshold(failurePercent)
                        .waitDurationInOpenState(openFor)
                        .permittedNumberOfCallsInHalfOpenState(trials)
                        .build());
    }

    static State state(CircuitBreaker breaker) {
        return switch (breaker.getState()) {
            case OPEN, FORCED_OPEN -> State.OPEN;
            case HALF_OPEN -> State.HALF_OPEN;
            default -> State.CLOSED;
        };
    }

    private static void require(boolean holds, String rule, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ", is " + value);
        }
    }
}
