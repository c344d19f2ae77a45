package dev.weir.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class LeaseTermsTest {

    private static final LeaseTerms TERMS = new LeaseTerms(5_000, 300, 30_000);

    @Test
    void a_term_is_a_quarter_of_a_short_window_and_200_ms_at_least() {
        assertThat(TERMS.forWindow(60_000)).isEqualTo(new LeaseTerms(5_000, 300, 15_000));
        assertThat(TERMS.forWindow(20_000)).isEqualTo(new LeaseTerms(5_000, 300, 5_000));
        assertThat(TERMS.forWindow(4_000)).isEqualTo(new LeaseTerms(1_000, 300, 1_000));
        assertThat(TERMS.forWindow(100)).isEqualTo(new LeaseTerms(200, 66, 200));
    }

    @Test
    void a_term_spans_three_round_trips_and_a_lead_five_quarters_of_one() {
        assertThat(TERMS.withRoundTrip(-1)).isEqualTo(TERMS);
        assertThat(TERMS.withRoundTrip(240)).isEqualTo(TERMS);
        assertThat(TERMS.withRoundTrip(400)).isEqualTo(new LeaseTerms(5_000, 500, 30_000));
        assertThat(TERMS.withRoundTrip(4_000)).isEqualTo(new LeaseTerms(12_000, 4_000, 30_000));
        assertThat(TERMS.withRoundTrip(Long.MAX_VALUE)).isEqualTo(TERMS.withRoundTrip(20_000));
    }

    @Test
    void values_out_of_range_are_rejected_by_name() {
        assertThat(new LeaseTerms(3_600_000, 0, 0).termMs()).isEqualTo(3_600_000);
        assertThat(new LeaseTerms(1, 0, 3_600_000).graceMs()).isEqualTo(3_600_000);
        assertThatThrownBy(() -> new LeaseTerms(0, 0, 0)).hasMessage("term must be 1 to 3600000 ms, is 0");
        assertThatThrownBy(() -> new LeaseTerms(1, -1, 0)).hasMessage("lead must be 0 to 3600000 ms, is -1");
        assertThatThrownBy(() -> new LeaseTerms(1, 0, 3_600_001))
                .hasMessage("grace must be 0 to 3600000 ms, is 3600001");
    }
}
