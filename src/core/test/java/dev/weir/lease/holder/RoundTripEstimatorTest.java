package dev.weir.lease.holder;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RoundTripEstimatorTest {

    private final RoundTripEstimator roundTrip = new RoundTripEstimator();

    @Test
    void a_decision_waits_two_seconds_before_the_first_sample() {
        assertThat(roundTrip.smoothedMs()).isZero();
        assertThat(roundTrip.waitMs()).isEqualTo(2_000);
    }

    @Test
    void it_is_smoothed_like_the_retransmission_timeout_of_tcp() {
        roundTrip.sample(40);
        assertThat(roundTrip.smoothedMs()).isEqualTo(40);
        assertThat(roundTrip.waitMs()).isEqualTo(2 * (40 + 4 * 20));
        roundTrip.sample(80);
        assertThat(roundTrip.smoothedMs()).isEqualTo(45);
        assertThat(roundTrip.waitMs()).isEqualTo(290);
    }

    @Test
    void the_wait_is_at_least_100_ms_and_at_most_two_seconds() {
        for (int i = 0; i < 100; i++) {
            roundTrip.sample(1);
        }
        assertThat(roundTrip.waitMs()).isEqualTo(100);
        roundTrip.sample(3_600_000);
        assertThat(roundTrip.waitMs()).isEqualTo(2_000);
    }
}
