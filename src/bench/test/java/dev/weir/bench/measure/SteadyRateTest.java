package dev.weir.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class SteadyRateTest {

    private static final long MS = 1_000_000;

    @Test
    void a_stall_counts_for_all_requests_that_fall_due_in_it() {
        long fromNanos = System.nanoTime();
        long untilNanos = fromNanos + 60 * MS;
        List<Long> due = new ArrayList<>();
        List<Long> lateNanos = new ArrayList<>();
        new SteadyRate(1_000).run(fromNanos, 100, dueNanos -> {
            while (due.size() == 10 && System.nanoTime() < untilNanos) {
                LockSupport.parkNanos(MS);
            }
            due.add(dueNanos - fromNanos);
            lateNanos.add(System.nanoTime() - dueNanos);
        });
        assertThat(due).hasSize(100);
        for (int i = 0; i < due.size(); i++) {
            assertThat(due.get(i)).isEqualTo(i * MS);
            assertThat(lateNanos.get(i)).isGreaterThanOrEqualTo(i < 10 ? 0 : (60 - i) * MS);
        }
    }

    @Test
    void a_rate_that_does_not_divide_a_second_does_not_drift() {
        List<Long> due = new ArrayList<>();
        long fromNanos = System.nanoTime() - 10_000 * MS;
        new SteadyRate(7).run(fromNanos, 71, dueNanos -> due.add(dueNanos - fromNanos));
        assertThat(due.get(7)).isEqualTo(1_000 * MS);
        assertThat(due.get(70)).isEqualTo(10_000 * MS);
        assertThat(new SteadyRate(7).requestsIn(Duration.ofSeconds(10))).isEqualTo(70);
    }

    @Test
    void a_rate_of_zero_is_rejected() {
        assertThatThrownBy(() -> new SteadyRate(0)).hasMessageContaining("1 a second");
    }
}
