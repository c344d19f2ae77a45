package dev.weir.lease;

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
    void a_step_back_does_not_count_and_the_step_forward_after_it_does() {
        observe();
        assertThat(observeAfter(10, -3_600_000)).isZero();
        assertThat(observeAfter(10, 3_600_000)).isEqualTo(1);
    }

    @Test
    void nothing_is_concluded_when_reading_the_clocks_took_long() {
        observe();
        long[] monotonic = {monotonicMs * 1_000_000, (monotonicMs + 5_000) * 1_000_000};
        int[] read = {0};
        assertThat(steps.observe(() -> monotonic[read[0]++], () -> wallMs + 5_000))
                .isZero();
    }
}
