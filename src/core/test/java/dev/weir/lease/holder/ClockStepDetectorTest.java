package dev.weir.lease.holder;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClockStepDetectorTest {

    private final ClockStepDetector steps = new ClockStepDetector();
    private long monotonicMs = -7_000;
    private long wallMs = 1_800_000_000_000L;

    private long observe() {
        return steps.observe(() -> monotonicMs * 1_000_000, () -> wallMs);
    }

    private long observeAfter(long monotonicPassedMs, long wallPassedMs) {
        monotonicMs += monotonicPassedMs;
        wallMs += wallPassedMs;
        return observe();
    }

    @Test
    void clocks_that_run_alike_make_no_step() {
        assertThat(observe()).isZero();
        assertThat(observeAfter(60_000, 60_000)).isZero();
        assertThat(observeAfter(60_000, 60_050)).as("read one after the other").isZero();
    }

    @Test
    void a_step_forward_and_a_suspended_machine_count() {
        observe();
        assertThat(observeAfter(10, 3_600_010)).isEqualTo(1);
        assertThat(observeAfter(10, 10)).isEqualTo(1);
        assertThat(observeAfter(10, 30_000)).isEqualTo(2);
    }

    @Test
    void a_step_back_counts_apart_and_the_step_forward_after_it_counts() {
        observe();
        assertThat(observeAfter(10, -3_600_000)).isZero();
        assertThat(steps.backwardCount()).isEqualTo(1);
        assertThat(observeAfter(10, 3_600_000)).isEqualTo(1);
        assertThat(steps.backwardCount()).isEqualTo(1);
    }

    @Test
    void nothing_is_concluded_when_reading_the_clocks_took_long() {
        observe();
        long[] monotonic = {monotonicMs * 1_000_000, (monotonicMs + 5_000) * 1_000_000};
        int[] read = {0};
        assertThat(steps.observe(() -> monotonic[read[0]++], () -> wallMs + 5_000))
                .isZero();
    }

    @Test
    void a_difference_of_100_ms_is_a_step() {
        observe();
        assertThat(observeAfter(10, 109)).isZero();
        assertThat(observeAfter(10, 11)).as("100 ms ahead of the first reading").isEqualTo(1);
    }

    /** A clock that lags by less than a step must not make a smaller difference count as a step. */
    @Test
    void a_small_lag_is_not_subtracted_from_the_next_step() {
        observe();
        observeAfter(1_000, 901);
        assertThat(observeAfter(1_000, 1_199)).as("100 ms ahead").isEqualTo(1);
    }
}
