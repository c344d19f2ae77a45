package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests the worked examples in the documentation and the comments. */
class WorkedCasesTest {

    private static final long MINUTE_MS = 60_000;

    @Test
    void log_two_a_minute_allows_allows_denies_allows() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowLog(2, MINUTE_MS, false), 1_000);
        assertThat(trial.request(1, 1_000)).isTrue();
        assertThat(trial.request(1, 15_000)).isTrue();
        assertThat(trial.request(1, 55_000)).isFalse();
        assertThat(trial.request(1, 87_000)).isTrue();
    }

    @Test
    void counter_seven_a_minute_previous_five_current_three_estimates_six_at18s() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(7, MINUTE_MS, false, false), 0);
        trial.charge(5, 30_000).charge(3, MINUTE_MS + 1_000);
        long nowMs = MINUTE_MS + 18_000;
        assertThat(trial.used(nowMs)).as("3 + ⌊5 · 0.7⌋").isEqualTo(6);
        assertThat(trial.request(1, nowMs)).isTrue();
        assertThat(trial.request(1, nowMs)).isFalse();
    }

    @Test
    void strict_counter_seven_a_minute_previous_five_current_three_estimates_seven_at18s() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(7, MINUTE_MS, true, false), 0);
        trial.charge(5, 30_000).charge(3, MINUTE_MS + 1_000);
        assertThat(trial.used(MINUTE_MS + 18_000)).as("3 + ⌈5 · 0.7⌉").isEqualTo(7);
        assertThat(trial.request(1, MINUTE_MS + 18_000)).isFalse();
    }

    @Test
    void counter_five_hundred_a_minute_previous400_current250_estimates350_at45s() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(500, MINUTE_MS, false, false), 0);
        trial.charge(400, 1_000).charge(250, MINUTE_MS);
        long nowMs = MINUTE_MS + 45_000;
        assertThat(trial.used(nowMs)).isEqualTo(350);
        assertThat(trial.request(1, nowMs)).isTrue();
        assertThat(trial.available(nowMs)).isEqualTo(149);
    }

    @Test
    void token_bucket_of_ten_five_a_second_allows_ten_at_half_a_second_and_one_of_two_at700ms() {
        TrialAccount<?> trial = TrialAccount.open(new TokenBucket(Rate.of(5, 1_000), 10, false), 0);
        for (int i = 0; i < 10; i++) {
            assertThat(trial.request(1, 500)).isTrue();
        }
        assertThat(trial.request(1, 700)).isTrue();
        assertThat(trial.request(1, 700)).isFalse();
    }

    @Test
    void meter_burst_ten_five_a_second_denies_two_at700ms_until900ms() {
        TrialAccount<?> trial = TrialAccount.open(new LeakyBucket(Rate.of(5, 1_000), 10, false), 0);
        assertThat(trial.request(10, 500)).isTrue();
        assertThat(trial.used(700)).as("the level").isEqualTo(9);
        assertThat(trial.request(2, 700)).isFalse();
        assertThat(trial.waitMs(2, 700)).isEqualTo(200);
    }

    @Test
    void interval_bucket_three_a_second_burst_seven_first_request_at400() {
        TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(3, 1_000, 7, false), 400);
        assertThat(trial.request(7, 400)).isTrue();
        assertThat(trial.available(1_399)).isZero();
        assertThat(trial.available(1_400)).isEqualTo(3);
        assertThat(trial.available(2_400)).isEqualTo(6);
        assertThat(trial.available(3_400)).isEqualTo(7);
    }

    @Test
    void rate_seven_per_eleven_seconds() {
        Rate rate = Rate.of(7, 11_000);
        assertThat(rate.unitsPerToken()).isEqualTo(11_000);
        assertThat(rate.unitsPerMs()).isEqualTo(7);
    }

    @Test
    void rate_ten_per_second() {
        Rate rate = Rate.of(10, 1_000);
        assertThat(rate.unitsPerToken()).isEqualTo(100);
        assertThat(rate.unitsPerMs()).isEqualTo(1);
    }

    @Test
    void fixed_window_permits_twice_the_limit_around_a_boundary() {
        TrialAccount<?> trial = TrialAccount.open(new FixedWindow(5, MINUTE_MS, false), 0);
        assertThat(trial.request(5, MINUTE_MS - 1)).isTrue();
        assertThat(trial.request(5, MINUTE_MS)).isTrue();
    }
}
