package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.metrics.Histogram;
import dev.weir.server.LatencyBuckets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MinuteHistoryTest {

    private static final long MINUTE = MinuteHistory.MS_PER_MINUTE;

    private final MinuteHistory history = new MinuteHistory();

    /** Returns a second with one decision, one dead letter, and one request that enters and leaves a queue. */
    private static InstanceSecond second(long at, Long lag, String queue, long waiting, Long oldestWaitMs) {
        List<Long> latencies = new ArrayList<>(Collections.nCopies(LatencyBuckets.MS.size() + 1, 0L));
        latencies.set(2, 1L);
        return new InstanceSecond(
                at,
                Map.of("ALLOWED", 1L),
                1,
                new Histogram.Reading(LatencyBuckets.MS, latencies, 5),
                lag,
                List.of(new InstanceSecond.QueueSecond(
                        queue, waiting, oldestWaitMs, 1, 1, List.of(new InstanceSecond.TierSecond("gold", waiting)))));
    }

    private void add(long at) {
        history.add(second(at, 1L, "q", 0, null));
    }

    @Test
    void a_minute_is_the_sum_of_its_seconds() {
        history.add(second(MINUTE, 7L, "q", 40, 900L));
        history.add(second(MINUTE + 1_000, null, "q", 30, null));
        history.add(second(2 * MINUTE - 1_000, 5L, "other", 0, null));
        assertThat(history.since(0)).as("the minute is not over").isEmpty();
        add(2 * MINUTE);
        assertThat(history.since(0)).singleElement().satisfies(minute -> {
            assertThat(minute.at()).isEqualTo(MINUTE);
            assertThat(minute.decisions()).containsOnly(Map.entry("ALLOWED", 3L));
            assertThat(minute.deadLetters()).isEqualTo(3);
            assertThat(minute.latenciesMs().count()).isEqualTo(3);
            assertThat(minute.latenciesMs().sum()).isEqualTo(15);
            assertThat(minute.lag()).isEqualTo(7);
            assertThat(minute.queues())
                    .containsExactly(
                            new InstanceSecond.QueueSecond("q", 30, 900L, 2, 2, List.of()),
                            new InstanceSecond.QueueSecond("other", 0, null, 1, 1, List.of()));
        });
    }

    @Test
    void after_the_clock_was_set_back_no_minute_is_there_twice() {
        for (long minute = 1; minute <= 4; minute++) {
            add(minute * MINUTE);
        }
        add(2 * MINUTE + 1_000);
        add(3 * MINUTE);
        assertThat(history.since(0)).extracting(InstanceSecond::at).containsExactly(MINUTE, 2 * MINUTE);
    }

    @Test
    void a_day_and_the_first_queues_of_each_minute_are_kept() {
        for (int queue = 0; queue < 20; queue++) {
            history.add(second(MINUTE + queue, 1L, "q" + queue, 1, null));
        }
        add(2 * MINUTE);
        assertThat(history.since(0).get(0).queues()).hasSize(8);
        for (long minute = 3; minute <= MinuteHistory.KEPT_MINUTES + 50; minute++) {
            add(minute * MINUTE);
        }
        assertThat(history.since(0)).hasSize(MinuteHistory.KEPT_MINUTES);
        assertThat(history.since((MinuteHistory.KEPT_MINUTES + 47) * MINUTE))
                .extracting(InstanceSecond::at)
                .containsExactly(
                        (MinuteHistory.KEPT_MINUTES + 48) * MINUTE, (MinuteHistory.KEPT_MINUTES + 49) * MINUTE);
    }

    @Test
    void the_minutes_of_all_instances_are_summed_when_all_can_have_reported_them() {
        add(MINUTE);
        add(2 * MINUTE);
        add(3 * MINUTE);
        InstanceStatus now =
                new InstanceStatus("a", "RUNNING", null, List.of(), InstanceStatus.InstanceQueues.NONE, List.of());
        InstanceReport report = new InstanceReport(history.since(0), now);
        InstanceReport behind = new InstanceReport(history.since(0).subList(0, 1), now);
        long nowMs = 3 * MINUTE + 1_000;
        assertThat(ClusterHistory.of(nowMs, List.of(report, behind), Set.of("z:1")))
                .satisfies(all -> assertThat(all.missing()).containsExactly("z:1"))
                .satisfies(all -> assertThat(all.minutes())
                        .singleElement()
                        .satisfies(minute -> assertThat(minute.decisions()).containsEntry("ALLOWED", 2L)));
        assertThat(ClusterHistory.of(nowMs + 1_000, List.of(report, behind), Set.of())
                        .minutes())
                .extracting(ClusterSecond::at)
                .containsExactly(MINUTE, 2 * MINUTE);
    }
}
