package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.clock.MonotonicClock;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CircuitSettingsTest {

    private static final CircuitSettings SETTINGS = new CircuitSettings(2, 100, Duration.ofSeconds(5), 1);

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1); // overflows
    private final CircuitBreaker breaker = SETTINGS.breaker(new MonotonicClock(nanos::get));

    private void fail() {
        breaker.onError(0, TimeUnit.NANOSECONDS, new IllegalStateException("as requested"));
    }

    @Test
    void a_circuit_is_open_for_its_time_of_the_monotonic_clock() {
        fail();
        assertThat(CircuitSettings.state(breaker)).isEqualTo(CircuitSettings.State.CLOSED);
        fail();
        assertThat(CircuitSettings.state(breaker)).isEqualTo(CircuitSettings.State.OPEN);
        nanos.addAndGet(Duration.ofSeconds(5).toNanos());
        assertThat(breaker.tryAcquirePermission()).isFalse();
        nanos.incrementAndGet();
        assertThat(breaker.tryAcquirePermission()).isTrue();
        assertThat(CircuitSettings.state(breaker)).isEqualTo(CircuitSettings.State.HALF_OPEN);
        assertThat(breaker.tryAcquirePermission()).isFalse();
        fail();
        assertThat(CircuitSettings.state(breaker)).isEqualTo(CircuitSettings.State.OPEN);
        nanos.addAndGet(Duration.ofSeconds(5).toNanos() + 1);
        assertThat(breaker.tryAcquirePermission()).isTrue();
        breaker.onSuccess(0, TimeUnit.NANOSECONDS);
        assertThat(CircuitSettings.state(breaker)).isEqualTo(CircuitSettings.State.CLOSED);
    }

    @Test
    void the_wall_clock_is_not_used() {
        assertThat(SETTINGS.breaker().getCircuitBreakerConfig().getClock()).isInstanceOf(MonotonicClock.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT0S", "PT0.000999S", "PT24H0.001S", "PT2562047788015215H"})
    void a_time_out_of_range_is_rejected(Duration openFor) {
        assertThatThrownBy(() -> new CircuitSettings(2, 100, openFor, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("openFor must be 1 ms to 1 day, is " + openFor);
    }
}
