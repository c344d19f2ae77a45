package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ClockWatchTest {

    private final AtomicLong wallMs = new AtomicLong(1_000_000);
    private final ClockWatch watch = new ClockWatch(wallMs::get);

    private Duration after(long ms) {
        wallMs.addAndGet(ms);
        return watch.behind();
    }

    @Test
    void a_clock_that_advances_or_jumps_ahead_is_not_behind() {
        assertThat(watch.behind()).isZero();
        assertThat(after(100)).isZero();
        assertThat(after(3_600_000)).isZero();
    }

    @Test
    void a_clock_set_back_is_behind_until_it_has_caught_up() {
        watch.behind();
        assertThat(after(-3_000)).isEqualTo(Duration.ofSeconds(3));
        assertThat(after(1_000)).isEqualTo(Duration.ofSeconds(2));
        assertThat(after(-500)).isEqualTo(Duration.ofMillis(2_500));
        assertThat(after(2_500)).isZero();
        assertThat(after(-1)).isEqualTo(Duration.ofMillis(1));
    }
}
