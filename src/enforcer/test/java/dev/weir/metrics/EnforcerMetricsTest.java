package dev.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnforcerMetricsTest {

    private static final int MANY = EnforcerMetrics.MOST + 500;
    private static final long NANOS_PER_MS = 1_000_000;

    private final EnforcerMetrics metrics = new EnforcerMetrics();
    private QueueRules rules = QueueRules.builder("q", 1, 1)
            .capacity(1)
            .lookAheadMs(0)
            .tiers(Map.of("gold", new TierShare(1, 1)))
            .build();

    private static final Request REQUEST = Request.builder("r", "c").build();

    private void release(String tier, long enqueuedAtMs, long releaseAtMs, long nowMs) {
        release("q", tier, enqueuedAtMs, releaseAtMs, nowMs);
    }

    private void release(String queue, String tier, long enqueuedAtMs, long releaseAtMs, long nowMs) {
        Release release = Release.builder("r", "c", queue)
                .tier(tier)
                .enqueuedAtMs(enqueuedAtMs)
                .releaseAtNanos(releaseAtMs * NANOS_PER_MS)
                .build();
        metrics.released(REQUEST, release, rules, nowMs);
    }

    private long releases(String queue, String tier) {
        return metrics.waitsMs().get(new EnforcerMetrics.Line(queue, tier)).count();
    }

    @Test
    void tiers_that_the_queue_does_not_name_are_counted_together() {
        for (int i = 0; i < MANY; i++) {
            release("tier " + i, 0, 5, 5);
        }
        release("gold", 0, 5, 5);
        release(null, 0, 5, 5);
        assertThat(metrics.waitsMs()).hasSize(3);
        assertThat(releases("q", EnforcerMetrics.OTHER)).isEqualTo(MANY);
        assertThat(releases("q", "gold")).isEqualTo(1);
        assertThat(releases("q", EnforcerMetrics.NONE)).isEqualTo(1);
    }

    @Test
    void a_wait_begins_at_the_time_before_which_the_request_must_not_start() {
        Release release = Release.builder("r", "c", "q")
                .tier("gold")
                .releaseAtNanos(90_005 * NANOS_PER_MS)
                .build();
        metrics.released(REQUEST.toBuilder().notBeforeMs(90_000L).build(), release, rules, 90_005);
        assertThat(metrics.waitsMs().get(new EnforcerMetrics.Line("q", "gold")).sum())
                .isEqualTo(5);
    }

    @Test
    void a_request_that_is_released_again_counts_once() {
        Release first = Release.builder("r", "c", "q")
                .tier("gold")
                .attempt(new Release.Attempt(1, "receipt", 1_000))
                .build();
        metrics.released(REQUEST, first, rules, 0);
        metrics.released(
                REQUEST,
                first.toBuilder()
                        .releaseAtNanos(90_000 * NANOS_PER_MS)
                        .attempt(new Release.Attempt(2, "receipt 2", 1_000))
                        .build(),
                rules,
                90_005);
        assertThat(metrics.released()).containsExactly(Map.entry("q", 1L));
        assertThat(releases("q", "gold")).isEqualTo(1);
        assertThat(metrics.latenessMs().count()).isEqualTo(2);
    }

    @Test
    void attempts_are_counted_without_their_queue_once_there_are_too_many_queues() {
        for (int i = 0; i < EnforcerMetrics.MOST + 5; i++) {
            metrics.attemptEnded("q" + i, AttemptEnd.DONE);
        }
        assertThat(metrics.attempts())
                .hasSize(EnforcerMetrics.MOST + 1)
                .containsEntry(new EnforcerMetrics.EndedAttempt("q0", AttemptEnd.DONE), 1L)
                .containsEntry(new EnforcerMetrics.EndedAttempt(EnforcerMetrics.OTHER, AttemptEnd.DONE), 5L);
    }

    @Test
    void another_queue_is_counted_although_one_has_many_invented_tiers() {
        for (int i = 0; i < 3 * MANY; i++) {
            release("tier " + i, 0, 5, 5);
        }
        release("late", "gold", 0, 5, 5);
        assertThat(releases("late", "gold")).isEqualTo(1);
    }

    @Test
    void a_deleted_queue_keeps_the_tiers_that_were_labels() {
        release("gold", 0, 5, 5);
        rules = null;
        release("gold", 0, 5, 5);
        release("silver", 0, 5, 5);
        assertThat(releases("q", "gold")).isEqualTo(2);
        assertThat(releases("q", EnforcerMetrics.OTHER)).isEqualTo(1);
    }

    @Test
    void releases_are_counted_without_their_queue_once_there_are_too_many_queues() {
        for (int i = 0; i < 2 * MANY; i++) {
            release("queue " + i, "gold", 0, 5, 5);
        }
        assertThat(metrics.waitsMs()).hasSize(2 * EnforcerMetrics.MOST + 1);
        assertThat(releases(EnforcerMetrics.OTHER, EnforcerMetrics.OTHER)).isPositive();
        assertThat(metrics.waitsMs().values().stream()
                        .mapToLong(Histogram.Reading::count)
                        .sum())
                .isEqualTo(2 * MANY);
    }

    @Test
    void a_release_counts_by_its_wait_and_by_how_late_it_is() {
        release(null, 1_000, 1_050, 1_030);
        release(null, 1_000, 1_500, 1_502);
        Histogram.Reading waits = metrics.waitsMs().get(new EnforcerMetrics.Line("q", EnforcerMetrics.NONE));
        assertThat(waits.counts().subList(0, 6)) // up to 10, 20, 50, 100, 200, 500 ms
                .isEqualTo(List.of(0L, 0L, 1L, 0L, 0L, 1L));
        assertThat(waits.sum()).isEqualTo(550);
        assertThat(metrics.latenessMs().counts().subList(0, 3)).isEqualTo(List.of(1L, 1L, 0L)); // up to 1, 2, 5 ms
    }
}
