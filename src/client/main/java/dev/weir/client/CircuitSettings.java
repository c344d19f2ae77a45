package dev.weir.client;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import java.time.Duration;

/**
 * When to ask no more for a while: if {@code failurePercent} of the last {@code window} requests were not answered, or
 * could not be written, none is sent for {@code openFor}; then {@code trials} are, and by them it closes or stays open.
 *
 * @param window 1 or more; nothing happens before as many have ended
 * @param failurePercent 1 to 100
 * @param openFor more than the time-out, so that the trials are not counted with what was sent before
 * @param trials 1 or more
 */
public record CircuitSettings(int window, int failurePercent, Duration openFor, int trials) {

    /** Half of the last 100; 5 s; 5 trials. */
    public static final CircuitSettings DEFAULT = new CircuitSettings(100, 50, Duration.ofSeconds(5), 5);

    /** Where it stands. */
    public enum State {
        /** Requests are sent. */
        CLOSED,
        /** None is sent. */
        OPEN,
        /** Trials are sent. */
        HALF_OPEN
    }

    public CircuitSettings {
        require(window >= 1, "window", window);
        require(failurePercent >= 1 && failurePercent <= 100, "failurePercent", failurePercent);
        require(openFor.toMillis() >= 1, "openFor", openFor);
        require(trials >= 1, "trials", trials);
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

    private static void require(boolean holds, String name, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(name + " is out of its range: " + value);
        }
    }
}
