package dev.weir.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.weir.bench.candidate.BenchQueues;
import dev.weir.event.Release;
import java.util.List;
import org.junit.jupiter.api.Test;

class PacingErrorsTest {

    private static final long MS = 1_000_000;
    private static final long BEGIN = 1_800_000_000_000L * MS;

    /** The third of four queues, which releases every 3 ms. */
    private static final String QUEUE = "q2";

    private final PacingErrors errors = new PacingErrors(new BenchQueues(4), BEGIN + 5 * MS, BEGIN + 12 * MS);

    @Test
    void errors_are_counted_from_the_last_release_before_early_or_late() {
        add(99, 0, 0); // the queue stalled after it
        add(100, 4, 50);
        add(101, 7, 6);
        add(102, 10, 14);
        add(103, 13, 1_000); // is due after the measured time
        assertThat(values())
                .satisfiesExactly(
                        p50 -> assertThat(p50).isEqualTo(1, within(0.01)),
                        p99 -> assertThat(p99).isEqualTo(4, within(0.01)),
                        max -> assertThat(max).isEqualTo(4, within(0.01)),
                        count -> assertThat(count).isEqualTo(2));
    }

    @Test
    void a_stall_delays_all_later_releases() {
        add(1, 4, 4);
        add(2, 5_007, 5_007);
        add(3, 5_010, 5_010);
        assertThat(values().get(0)).isEqualTo(5_000, within(10.0));
        assertThat(values().get(3)).isEqualTo(2);
    }

    @Test
    void is_complete_when_every_queue_has_released_its_last() {
        for (int queue = 0; queue < 4; queue++) {
            assertThat(errors.isComplete()).isFalse();
            errors.add(release("q" + queue, 1, BEGIN), BEGIN);
            errors.add(release("q" + queue, 100, BEGIN + 12 * MS), BEGIN);
        }
        assertThat(errors.isComplete()).isTrue();
    }

    private List<Double> values() {
        return errors.row("any").values();
    }

    private void add(long sequence, long stampedMs, long seenMs) {
        errors.add(release(QUEUE, sequence, BEGIN + stampedMs * MS), BEGIN + seenMs * MS);
    }

    private static Release release(String queue, long sequence, long releaseAtNanos) {
        return Release.builder("r", "c", queue)
                .sequence(sequence)
                .releaseAtNanos(releaseAtNanos)
                .build();
    }
}
