package dev.weir.client;

import dev.weir.client.clock.MonotonicClock;
import dev.weir.client.decision.NoDecisionReason;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import java.time.Clock;
import java.time.Duration;

/**
 * The settings of a client's circuit breaker, which is <a
 * href="https://resilience4j.readme.io/docs/circuitbreaker">that of Resilience4j</a>. If {@code failurePercent} or more
 * of the last {@code window} requests failed, the circuit opens: for {@code openFor} no request is sent, and requests
 * end with {@link NoDecisionReason#CIRCUIT_OPEN}. Then {@code trials} requests are sent. Depending on their results,
 * the circuit closes or opens again. A request has failed if the brokers did not confirm it, or if it timed out when no
 * decision had arrived for 1 s. A request that is 5 s late has not: while decisions arrive, late ones indicate a burst,
 * not an outage. A request that timed out within less than 100 ms does not count: a decision can take that long.
 *
 * @param window the number of recent requests that are evaluated, at least 1. The circuit cannot open before that many
 *     requests have ended
 * @param failurePercent the percentage of failed requests at which the circuit opens, 1 to 100
 * @param openFor how long the circuit stays open, 1 ms to 1 day. It should be longer than the client's time-out, so
 *     that requests sent before do not count as trials
 * @param trials the number of requests that are sent before the circuit closes or opens again, at least 1
 */
public record CircuitSettings(int window, int failurePercent, Duration openFor, int trials) {

    private static final Duration MIN_OPEN = Duration.ofMillis(1);
    private static final Duration MAX_OPEN = Duration.ofDays(1);

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
     * @param openFor how long the circuit stays open, 1 ms to 1 day. It should be longer than the client's time-out,
     *     so that requests sent before do not count as trials
     * @param trials the number of requests that are sent before the circuit closes or opens again, at least 1
     * @throws IllegalArgumentException if a value is out of its range
     */
    public CircuitSettings {
        require(window >= 1, "window must be at least 1", window);
        require(failurePercent >= 1 && failurePercent <= 100, "failurePercent must be 1 to 100", failurePercent);
        require(
                openFor.compareTo(MIN_OPEN) >= 0 && openFor.compareTo(MAX_OPEN) <= 0,
                "openFor must be 1 ms to 1 day",
                openFor);
        require(trials >= 1, "trials must be at least 1", trials);
    }

    /** Returns a circuit breaker that stays open for the same time if the wall clock is set back. */
    CircuitBreaker breaker() {
        return breaker(new MonotonicClock(System::nanoTime));
    }

    /** Returns a circuit breaker that measures by a clock how long it is open. */
    CircuitBreaker breaker(Clock clock) {
        return CircuitBreaker.of(
                "weir",
                CircuitBreakerConfig.custom()
                        .slidingWindow(window, window, CircuitBreakerConfig.SlidingWindowType.COUNT_BASED)
                        .failureRateThreshold(failurePercent)
                        .waitDurationInOpenState(openFor)
                        .permittedNumberOfCallsInHalfOpenState(trials)
                        .clock(clock)
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
