package dev.weir.shape.timer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QueueClockTest {

    private static final long BROKER_MS = 1_800_000_000_000L;

    /**
     * Records that take 1 to 100 ms, some of which lag by seconds, and a marker each second that takes 20 to 120 ms.
     */
    @ParameterizedTest
    @CsvSource({"-3600000, 0", "3600000, 0", "0, 0", "250, 0.01", "-250, -0.01", "3600000, 0.01", "-3600000, -0.01"})
    void it_follows_the_brokers_time_with_any_local_clock_and_never_decreases(long skewMs, double drift) {
        Random random = new Random(skewMs);
        QueueClock clock = new QueueClock(0);
        long latestMs = 0;
        long markerAtMs = -1;
        long sentMs = 0;
        for (long ms = 0; ms < 600_000; ms += 1 + random.nextInt(20)) {
            long localMs = skewMs + BROKER_MS + ms + (long) (drift * ms);
            long lagMs = ms % 60_000 > 30_000 ? 5_000 : 1 + random.nextInt(100);
            clock.observe(BROKER_MS + ms - lagMs, localMs);
            if (markerAtMs < 0 && localMs - sentMs >= 1_000) {
                sentMs = localMs;
                markerAtMs = ms + 20 + random.nextInt(100);
            } else if (markerAtMs >= 0 && ms >= markerAtMs) {
                assertThat(clock.observeMarker(sentMs, BROKER_MS + ms - 10, localMs))
                        .isFalse();
                markerAtMs = -1;
            }
            long timeMs = clock.timeMs(localMs);
            assertThat(timeMs).isGreaterThanOrEqualTo(latestMs);
            if (clock.isSynchronized()) {
                assertThat(timeMs - BROKER_MS - ms).isBetween(-130L, 130L);
            }
            latestMs = timeMs;
        }
    }

    @Test
    void lag_does_not_delay_it_once_a_marker_has_been_read() {
        QueueClock clock = new QueueClock(0);
        clock.observe(BROKER_MS - 60_000, 0); // the task lags by a minute when it starts
        assertThat(clock.timeMs(0)).isEqualTo(BROKER_MS - 60_000);
        assertThat(clock.isSynchronized()).isFalse();
        clock.observeMarker(0, BROKER_MS + 40, 100);
        assertThat(clock.isSynchronized()).isTrue();
        assertThat(clock.timeMs(100)).isEqualTo(BROKER_MS + 40);
        clock.observe(BROKER_MS, 30_100);
        assertThat(clock.timeMs(30_100)).isEqualTo(BROKER_MS + 30_040);
    }

    @Test
    void it_stands_still_until_a_small_difference_has_passed() {
        QueueClock clock = new QueueClock(BROKER_MS + 900);
        clock.observe(BROKER_MS, 0);
        assertThat(clock.observeMarker(0, BROKER_MS, 0)).isFalse();
        assertThat(clock.timeMs(0)).isEqualTo(BROKER_MS + 900);
        assertThat(clock.timeMs(900)).isEqualTo(BROKER_MS + 900);
        assertThat(clock.timeMs(901)).isEqualTo(BROKER_MS + 901);
    }

    @ParameterizedTest
    @ValueSource(longs = {1_001, 3_600_000})
    void it_steps_back_only_if_a_marker_shows_that_it_is_ahead(long aheadMs) {
        QueueClock clock = new QueueClock(BROKER_MS + aheadMs);
        clock.observe(BROKER_MS, 0);
        assertThat(clock.timeMs(0)).isEqualTo(BROKER_MS + aheadMs);
        assertThat(clock.observeMarker(0, BROKER_MS, 0)).isTrue();
        assertThat(clock.timeMs(0)).isEqualTo(BROKER_MS);
        assertThat(clock.observeMarker(0, BROKER_MS, 0)).isFalse();
    }

    @Test
    void after_a_long_idle_time_the_drift_of_the_local_clock_is_not_kept() {
        QueueClock clock = new QueueClock(0);
        clock.observeMarker(0, BROKER_MS, 0);
        long dayMs = 86_400_000;
        long localMs = dayMs + dayMs / 100; // a clock that runs fast by 1 %
        clock.observe(BROKER_MS + dayMs, localMs);
        assertThat(clock.timeMs(localMs)).isEqualTo(BROKER_MS + dayMs);
    }
}
