package dev.weir.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class LatenciesTest {

    private static final Latencies PASSED = new Latencies("pass-through", List.of(round(10), round(100), round(20)));
    private static final Latencies DECIDED = new Latencies("decided", List.of(round(20), round(150), round(60)));

    @Test
    void each_round_is_compared_with_the_same_round_of_the_pass_through() {
        assertThat(DECIDED.row(PASSED).values().get(4)).isEqualTo(2, within(0.01)); // the median of 2, 1.5 and 3
        assertThat(PASSED.row(PASSED).values().get(4)).isEqualTo(1);
    }

    @Test
    void percentiles_are_the_median_of_the_rounds_and_the_longest_is_of_all() {
        ResultTable.Row row = DECIDED.row(PASSED);
        List<Double> expected = List.of(1.0, 60.0, 180.0, 1_500.0);
        for (int i = 0; i < expected.size(); i++) {
            assertThat(row.values().get(i)).isEqualTo(expected.get(i), within(expected.get(i) / 100));
        }
    }

    /** Returns 1,000 latencies: 980 of 1 ms, 18 of the given value, and two of 3 and 10 times that value. */
    private static Histogram round(long p99Ms) {
        Histogram histogram = new Histogram(3);
        histogram.recordValueWithCount(1_000_000, 980);
        histogram.recordValueWithCount(p99Ms * 1_000_000, 18);
        histogram.recordValue(3 * p99Ms * 1_000_000);
        histogram.recordValue(10 * p99Ms * 1_000_000);
        return histogram;
    }
}
