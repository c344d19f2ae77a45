package dev.weir.shape.backlog;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TimeCountsTest {

    @Test
    void the_first_time_is_exact_to_a_1024th_however_many_there_are() {
        TimeCounts counts = new TimeCounts();
        for (int ms = 0; ms < 1_000_000; ms += 7) {
            counts.add(ms + 500);
        }
        assertThat(counts.firstMs()).isBetween(500L - 1_000_000 / 1_024, 500L);
        assertThat(counts.intervals()).isLessThanOrEqualTo(TimeCounts.MAX_INTERVALS);
        for (int ms = 0; ms < 500_000; ms += 7) {
            counts.remove(ms + 500);
        }
        assertThat(counts.firstMs()).isBetween(500_000L - 1_000_000 / 1_024, 500_510L);
        for (int ms = 500_003; ms < 1_000_000; ms += 7) {
            counts.remove(ms + 500);
        }
        assertThat(counts.firstMs()).isNull();
        counts.add(3);
        counts.add(3);
        counts.remove(3);
        assertThat(counts.firstMs()).isEqualTo(3);
    }
}
