package dev.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class HistogramTest {

    private static Histogram.Reading of(long... values) {
        Histogram spread = new Histogram(List.of(1L, 10L, 100L));
        for (long value : values) {
            spread.add(value);
        }
        return spread.read();
    }

    @Test
    void a_quantile_is_the_bound_of_its_bucket() {
        assertThat(of(1, 1, 5, 5, 5, 5, 5, 5, 5, 50).quantile(0.2)).hasValue(1);
        assertThat(of(1, 1, 5, 5, 5, 5, 5, 5, 5, 50).quantile(0.21)).hasValue(10);
        assertThat(of(1, 1, 5, 5, 5, 5, 5, 5, 5, 50).quantile(0.9)).hasValue(10);
        assertThat(of(1, 1, 5, 5, 5, 5, 5, 5, 5, 50).quantile(1)).hasValue(100);
        assertThat(of(1_000).quantile(0.5)).as("above all bounds").isEmpty();
        assertThat(of().quantile(0.5)).isEmpty();
    }

    @Test
    void snapshots_can_be_added_and_subtracted() {
        assertThat(of(1, 50).plus(of(5))).isEqualTo(of(1, 5, 50));
        assertThat(of(1, 5, 50).minus(of(5))).isEqualTo(of(1, 50));
    }
}
