package dev.weir.shape;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QueueClockTest {

    private static final long BROKER = 1_795_000_000_000L;
    private static final long HOUR = 3_600_000;

    private final QueueClock clock = new QueueClock();

    /** A record was appended at a broker's time and read when the local clock showed the second time. */
    private void settle(long appendMs, long sentMs, long localMs) {
        clock.read(appendMs, localMs);
        clock.returned(appendMs, sentMs, localMs);
    }

    @Test
    void the_worked_example_holds() {
        settle(5_103, 100, 120);
        assertThat(clock.nowMs(120)).isEqualTo(5_123);
        settle(6_103, 1_118, 1_119); // offset ≤ 4,985
        assertThat(clock.nowMs(1_119)).isEqualTo(1_119 + 4_985);
        clock.read(6_110, 1_121); // offset ≥ 4,989
        assertThat(clock.nowMs(1_121)).isEqualTo(6_110);
    }

    @Test
    void nothing_is_settled_before_the_first_marker_and_the_time_is_that_of_the_records() {
        assertThat(clock.isSettled(0)).isFalse();
        clock.read(BROKER - 60_000, 10); // a backlog
        clock.read(BROKER - 59_000, 11);
        assertThat(clock.isSettled(11)).isFalse();
        assertThat(clock.nowMs(5_000)).isEqualTo(BROKER - 59_000);
        assertThat(clock.takeReset()).isFalse();
        settle(BROKER, 12, 12);
        assertThat(clock.isSettled(12)).isTrue();
        assertThat(clock.takeReset()).isTrue();
        assertThat(clock.takeReset()).isFalse();
        assertThat(clock.nowMs(1_012)).isEqualTo(BROKER + 1_000);
    }

    @Test
    void a_backlog_neither_sets_the_time_back_nor_unsettles_it() {
        settle(BROKER, 0, 0);
        for (long local = 0; local < 60_000; local += 1_000) {
            clock.read(BROKER + local / 10, local); // read later and later
            assertThat(clock.isSettled(local)).isTrue();
            assertThat(clock.nowMs(local)).isEqualTo(BROKER + local);
        }
    }

    @Test
    void after_an_idle_hour_a_record_that_confirms_the_estimate_is_enough() {
        settle(BROKER, 0, 0);
        assertThat(clock.isSettled(HOUR)).isFalse();
        clock.read(BROKER + HOUR - 500, HOUR);
        assertThat(clock.isSettled(HOUR)).isTrue();
        assertThat(clock.nowMs(HOUR)).isEqualTo(BROKER + HOUR - 500);
    }

    @Test
    void after_an_idle_hour_a_record_that_contradicts_the_estimate_asks_for_a_marker() {
        settle(BROKER, 0, 0);
        long localMs = HOUR + HOUR / 100; // it gains 1 %
        clock.read(BROKER + HOUR, localMs);
        assertThat(clock.isSettled(localMs)).isFalse();
        assertThat(clock.nowMs(localMs)).isEqualTo(BROKER + HOUR);
        settle(BROKER + HOUR + 20, localMs, localMs + 20);
        assertThat(clock.isSettled(localMs + 20)).isTrue();
        assertThat(clock.nowMs(localMs + 20))
                .isEqualTo(BROKER + HOUR + 40); // at most: it was appended 20 ms after it was sent
    }

    @ParameterizedTest
    @ValueSource(longs = {HOUR, -HOUR})
    void a_broker_whose_clock_is_set_is_followed_and_a_step_back_is_told(long stepMs) {
        settle(BROKER, 0, 0);
        clock.takeReset();
        settle(BROKER + stepMs + 1_000, 1_000, 1_000);
        assertThat(clock.nowMs(1_000)).isEqualTo(BROKER + stepMs + 1_000);
        assertThat(clock.takeReset()).isEqualTo(stepMs < 0);
    }

    @Test
    void less_than_a_second_ahead_it_stands_still_until_the_estimate_has_caught_up() {
        settle(BROKER, 0, 0);
        assertThat(clock.nowMs(1_000)).isEqualTo(BROKER + 1_000);
        settle(BROKER + 100, 1_000, 1_000);
        assertThat(clock.nowMs(1_000)).isEqualTo(BROKER + 1_000);
        assertThat(clock.nowMs(1_800)).isEqualTo(BROKER + 1_000);
        assertThat(clock.nowMs(2_000)).isEqualTo(BROKER + 1_100);
        assertThat(clock.takeReset()).as("the first one").isTrue();
    }

    @Test
    void a_marker_whose_time_is_not_the_brokers_confirms_what_was_read() {
        clock.read(BROKER, 7);
        clock.returned(0, 7, 8);
        assertThat(clock.nowMs(8)).isEqualTo(BROKER + 1);
    }

    /**
     * A task that waits for an hour of broker's time, taken over every few minutes by an instance with any local clock, one
     * that drifts by up to 1 %. Markers are sent each second and may be appended up to 50 ms later; records are read up to
     * 30 s late, when a batch is delayed, markers among them.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void it_stays_at_the_brokers_time_whatever_clocks_drift_and_skew_and_however_late_records_are_read(int seed) {
        Random random = new Random(seed);
        long brokerMs = BROKER;
        while (brokerMs < BROKER + HOUR) {
            long untilMs = brokerMs + 60_000 + random.nextInt(240_000);
            brokerMs = incarnation(random, brokerMs, untilMs);
        }
    }

    private static long incarnation(Random random, long fromMs, long untilMs) {
        QueueClock clock = new QueueClock();
        long skewMs = random.nextInt(7_200_001) - HOUR;
        double rate = 1 + (random.nextInt(201) - 100) / 10_000.0;
        long timelyMs = 0; // broker's time when a record was read in time, or the clock settled
        long lastMs = 0;
        long brokerMs = fromMs;
        while (brokerMs < untilMs) {
            long sentMs = brokerMs;
            long appendMs = sentMs + random.nextInt(50);
            long readMs = appendMs + 1 + random.nextInt(random.nextInt(20) == 0 ? 30_000 : 30);
            long readLocalMs = local(readMs, fromMs, skewMs, rate);
            for (long admitted = appendMs - random.nextInt(500); random.nextInt(3) > 0; admitted += 10) {
                clock.read(Math.min(admitted, readMs), readLocalMs);
            }
            clock.read(appendMs, readLocalMs);
            clock.returned(appendMs, local(sentMs, fromMs, skewMs, rate), readLocalMs);
            timelyMs = timelyMs == 0 || readMs - appendMs <= 30 ? readMs : timelyMs;
            for (brokerMs = readMs; brokerMs < readMs + 1_000; brokerMs += 1 + random.nextInt(200)) {
                long now = clock.nowMs(local(brokerMs, fromMs, skewMs, rate));
                assertThat(now).as("never back").isGreaterThanOrEqualTo(lastMs);
                // 50 ms until a marker is appended, and 1 % of the time since it was sent; else it stands still
                assertThat(now)
                        .as("ahead")
                        .isLessThanOrEqualTo(Math.max(lastMs, brokerMs + 52 + (brokerMs - sentMs) / 100));
                assertThat(now).as("behind").isGreaterThanOrEqualTo(brokerMs - 34 - (brokerMs - timelyMs) / 100);
                lastMs = now;
            }
        }
        return brokerMs;
    }

    private static long local(long brokerMs, long fromMs, long skewMs, double rate) {
        return brokerMs + skewMs + Math.round((brokerMs - fromMs) * (rate - 1));
    }
}
