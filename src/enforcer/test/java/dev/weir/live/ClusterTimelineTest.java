package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.metrics.Histogram;
import dev.weir.server.LatencyBuckets;
import dev.weir.shape.view.QueueView;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ClusterTimelineTest {

    private static final Histogram.Reading ONE_AND_ONE = new Histogram.Reading(
            LatencyBuckets.MS, List.of(1L, 0L, 0L, 1L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L), 0);

    private final ClusterTimeline together = new ClusterTimeline();

    private static InstanceReport report(String address, long denied, long... seconds) {
        List<InstanceSecond> reported = new ArrayList<>();
        for (long at : seconds) {
            reported.add(new InstanceSecond(at, Map.of("ALLOWED", 2L), 1, ONE_AND_ONE, 5L, List.of()));
        }
        return new InstanceReport(
                reported,
                new InstanceStatus(
                        address,
                        "RUNNING",
                        new InstanceStatus.ProcessInfo("1.2.3", denied),
                        List.of(new InstanceStatus.RecentClient("greedy", denied)),
                        new InstanceStatus.InstanceQueues(
                                30, List.of(), denied, List.of(queue("empty", 0), queue(address, denied))),
                        List.of()));
    }

    private static final QueueStatus.OrdersStatus NO_ORDERS = new QueueStatus.OrdersStatus(null, null, false, 0);

    private static QueueStatus queue(String id, long waiting) {
        return new QueueStatus(
                id,
                null,
                new QueueStatus.RulesStatus(false, new QueueStatus.RateStatus(1, 1, 1), 1, null),
                null,
                new QueueStatus.BacklogStatus(
                        0, List.of(), List.of(new QueueStatus.TierStatus(null, 0, 1, waiting, 0))),
                new QueueStatus.InFlightStatus(null, null, 0, 0, 0, null),
                NO_ORDERS);
    }

    private List<Long> seconds() {
        return together.since(0).ticks().stream().map(ClusterSecond::at).toList();
    }

    @Test
    void a_second_is_the_sum_of_all_reports() {
        together.add(4_500, report("a", 3, 1_000, 2_000), Map.of("b", report("b", 4, 2_000)), Set.of());
        assertThat(together.since(1_000).ticks())
                .containsExactly(
                        new ClusterSecond(2_000, 2, Map.of("ALLOWED", 4L), 2, new Quantiles(1L, 10L), 10L, List.of()));
        assertThat(together.since(0).ticks().get(0).instances()).isEqualTo(1);
    }

    @Test
    void a_second_is_published_after_the_other_instances_could_report_it() {
        together.add(4_500, report("a", 3, 1_000, 2_000, 3_000), Map.of("b", report("b", 4, 1_000)), Set.of());
        assertThat(seconds()).containsExactly(1_000L, 2_000L);
        assertThat(together.lastSecondMs()).isEqualTo(2_000);
        together.add(5_500, report("a", 3, 2_000, 3_000), Map.of("b", report("b", 4, 2_000, 3_000)), Set.of());
        assertThat(seconds()).containsExactly(1_000L, 2_000L, 3_000L);
        assertThat(together.since(0).ticks().get(1).instances())
                .as("a late report changes nothing")
                .isEqualTo(1);
    }

    @Test
    void after_the_clock_was_set_back_the_timeline_begins_again() {
        together.add(600_500, report("a", 3, 599_000), Map.of(), Set.of());
        together.add(597_500, report("a", 3), Map.of(), Set.of());
        assertThat(seconds()).as("a small step is waited for").containsExactly(599_000L);
        together.add(4_500, report("a", 3, 2_000, 3_000, 599_000), Map.of(), Set.of());
        assertThat(seconds()).containsExactly(2_000L, 3_000L);
        assertThat(together.lastSecondMs()).isEqualTo(3_000);
    }

    @Test
    void a_single_instance_publishes_at_once() {
        together.add(4_500, report("a", 3, 3_000), Map.of(), Set.of());
        assertThat(seconds()).containsExactly(3_000L);
    }

    @Test
    void a_client_is_listed_with_its_last_decision_on_any_instance() {
        together.add(2_000, report("a", 3), Map.of("b", report("b", 5)), Set.of());
        assertThat(together.since(0).overview().recentClients())
                .containsExactly(new InstanceStatus.RecentClient("greedy", 5));
    }

    @Test
    void versions_and_starts_are_reported() {
        together.add(2_000, report("a", 3), Map.of("b", report("b", 5)), Set.of("z:1"));
        assertThat(together.since(0).overview().instances())
                .extracting(ClusterOverview.InstanceOverview::process)
                .containsExactly(
                        new InstanceStatus.ProcessInfo("1.2.3", 3), new InstanceStatus.ProcessInfo("1.2.3", 5), null);
    }

    @Test
    void unresponsive_instances_are_reported() {
        together.add(4_500, report("a", 3, 3_000), Map.of(), Set.of("z:1"));
        ClusterOverview overview = together.since(0).overview();
        assertThat(overview.unreachable()).containsExactly("z:1");
        assertThat(overview.instances())
                .extracting(
                        ClusterOverview.InstanceOverview::address,
                        ClusterOverview.InstanceOverview::self,
                        ClusterOverview.InstanceOverview::health)
                .containsExactly(tuple("a", true, "RUNNING"), tuple("z:1", false, "UNREACHABLE"));
    }

    @Test
    void retained_seconds_are_bounded() {
        for (long at = 1_000; at <= 400_000; at += 1_000) {
            together.add(at + 1_500, report("a", 3, at), Map.of(), Set.of());
        }
        assertThat(seconds()).hasSize(Sampler.KEPT_SECONDS).startsWith(101_000L).endsWith(400_000L);
    }

    @Test
    void the_longest_queues_are_listed_by_name() {
        Map<String, InstanceReport> others = new TreeMap<>();
        for (int i = 10; i < 50; i++) {
            others.put("z" + i, report("z" + i, i));
        }
        together.add(2_000, report("a", 3), others, Set.of());
        ClusterOverview overview = together.since(0).overview();
        assertThat(overview.queues())
                .extracting(ClusterOverview.QueueOverview::id)
                .hasSize(Sampler.MAX_QUEUES)
                .startsWith("z30")
                .endsWith("z49");
        assertThat(overview.queuesInAll()).isEqualTo(41 * 30);
        assertThat(overview.waitingInAll()).isEqualTo(3 + 40 * (10 + 49) / 2);
    }

    @Test
    void a_queue_with_keys_on_several_instances_is_listed_once() {
        Map<String, InstanceReport> others = Map.of("b", keyed("b", 4, 20, 900L, "gold"));
        together.add(4_500, keyed("a", 3, 10, null, null), others, Set.of());
        assertThat(together.since(0).overview().queues()).singleElement().satisfies(queue -> {
            assertThat(queue.keys()).isEqualTo(7);
            assertThat(queue.rules().rate().limit()).isEqualTo(5);
            assertThat(queue.backlog().drainMs()).isEqualTo(2_000);
            assertThat(queue.backlog().longest())
                    .extracting(key -> key.key().get("to"))
                    .containsExactly("b0", "b1", "b2", "b3", "b4", "b5", "a0", "a1");
            assertThat(queue.backlog().tiers())
                    .containsExactly(
                            new QueueStatus.TierStatus(null, 0, 1, 10, 4),
                            new QueueStatus.TierStatus("gold", 0, 1, 20, 4));
            assertThat(queue.inFlight()).isEqualTo(new QueueStatus.InFlightStatus(6L, 9L, 6, 8, 4, 200L));
        });
        assertThat(together.since(0).ticks().get(0).queues())
                .containsExactly(new InstanceSecond.QueueSecond(
                        "hooks",
                        30,
                        900L,
                        2,
                        4,
                        List.of(new InstanceSecond.TierSecond(null, 10), new InstanceSecond.TierSecond("gold", 20))));
    }

    @Test
    void a_queue_with_keys_on_several_instances_counts_once() {
        Map<String, InstanceReport> others =
                Map.of("b", keyed("b", 4, 20, 900L, "gold"), "c", keyed("c", 1, 1, 900L, "gold"));
        together.add(4_500, keyed("a", 3, 10, null, null), others, Set.of());
        ClusterOverview overview = together.since(0).overview();
        assertThat(overview.queuesInAll())
                .as("two with keys, and one without keys on each instance")
                .isEqualTo(2 + 3);
        assertThat(overview.waitingInAll()).isEqualTo(31);
    }

    /** Returns the report of an instance that has some of the keys of a queue, and another queue without keys. */
    private static InstanceReport keyed(String address, long keys, long waiting, Long oldestWaitMs, String tier) {
        InstanceSecond.QueueSecond inSecond = new InstanceSecond.QueueSecond(
                "hooks", waiting, oldestWaitMs, 1, 2, List.of(new InstanceSecond.TierSecond(tier, waiting)));
        List<QueueView.KeyView> longest = LongStream.range(0, 6)
                .mapToObj(i -> new QueueView.KeyView(Map.of("to", address + i), waiting - i, waiting, i, 0, 2))
                .toList();
        QueueStatus now = new QueueStatus(
                "hooks",
                keys,
                new QueueStatus.RulesStatus(false, new QueueStatus.RateStatus(5, 1_000, 1), 100, null),
                null,
                new QueueStatus.BacklogStatus(
                        100 * waiting, longest, List.of(new QueueStatus.TierStatus(tier, 0, 1, waiting, 4))),
                new QueueStatus.InFlightStatus(6L, 9L, 3, 4, 2, 10 * waiting),
                NO_ORDERS);
        return new InstanceReport(
                List.of(new InstanceSecond(2_000, Map.of(), 0, ONE_AND_ONE, 0L, List.of(inSecond))),
                new InstanceStatus(
                        address,
                        "RUNNING",
                        null,
                        List.of(),
                        new InstanceStatus.InstanceQueues(3, List.of("empty", "hooks"), waiting, List.of(now)),
                        List.of()));
    }

    @Test
    void the_lag_is_unknown_if_one_instance_does_not_report_it() {
        InstanceSecond unknown = new InstanceSecond(1_000, Map.of(), 0, ONE_AND_ONE, null, List.of());
        assertThat(ClusterSecond.of(List.of(unknown, unknown)).lag()).isNull();
    }

    @Test
    void a_report_of_another_version_is_read_or_rejected() {
        String json = report("a", 3, 1_000).json();
        assertThat(InstanceReport.read(json.replace("{\"seconds\"", "{\"more\":1,\"seconds\"")))
                .isNotNull();
        for (String other : List.of(
                json.replace("\"bounds\":[1,", "\"bounds\":[3,"),
                json.replace("\"latenciesMs\"", "\"latencies\""),
                json.replace("\"recentClients\"", "\"people\""),
                json.replace("\"keyed\"", "\"keyedQueues\""),
                json.replace("\"rules\"", "\"rule\""),
                json.replace("\"backlog\"", "\"waiting\""),
                "[]",
                "")) {
            assertThatThrownBy(() -> InstanceReport.read(other)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void a_report_survives_a_round_trip() {
        for (InstanceReport report : List.of(report("a", 3, 1_000), keyed("a", 3, 10, 5L, "gold"))) {
            assertThat(InstanceReport.read(report.json())).isEqualTo(report);
        }
    }
}
