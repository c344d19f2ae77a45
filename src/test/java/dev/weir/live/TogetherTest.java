package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.processor.Spread;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TogetherTest {

    private static final List<Long> BOUNDS = List.of(1L, 10L, 100L);

    private final Together together = new Together();

    private static Report report(String address, long denied, long... seconds) {
        List<Second> told = new ArrayList<>();
        for (long at : seconds) {
            told.add(new Second(
                    at,
                    Map.of("ALLOWED", 2L),
                    1,
                    new Spread.Reading(BOUNDS, List.of(1L, 1L, 0L, 0L), 0),
                    5,
                    List.of()));
        }
        return new Report(
                told,
                new Glance(
                        address,
                        "RUNNING",
                        List.of(new Glance.Denied("greedy", denied), new Glance.Denied("of " + address, 7)),
                        List.of(new Glance.OfPolicy("p", 1, denied, 0)),
                        List.of(),
                        List.of()));
    }

    private List<Long> seconds() {
        return together.since(0).ticks().stream().map(Tick::at).toList();
    }

    @Test
    void a_second_is_the_sum_of_what_all_told_of_it() {
        together.add(4_500, report("a", 3, 1_000, 2_000), Map.of("b", report("b", 4, 2_000)), Set.of());
        assertThat(together.since(1_000).ticks())
                .containsExactly(new Tick(2_000, 2, Map.of("ALLOWED", 4L), 2, new Quantiles(1, 10), 10, List.of()));
        assertThat(together.since(0).ticks().get(0).instances()).isEqualTo(1);
    }

    @Test
    void a_second_is_told_once_the_others_had_time_to_tell_of_it() {
        together.add(4_500, report("a", 3, 1_000, 2_000, 3_000), Map.of("b", report("b", 4, 1_000)), Set.of());
        assertThat(seconds()).containsExactly(1_000L, 2_000L);
        assertThat(together.settled()).isEqualTo(2_000);
        together.add(5_500, report("a", 3, 2_000, 3_000), Map.of("b", report("b", 4, 2_000, 3_000)), Set.of());
        assertThat(seconds()).containsExactly(1_000L, 2_000L, 3_000L);
        assertThat(together.since(0).ticks().get(1).instances())
                .as("what comes too late changes nothing")
                .isEqualTo(1);
    }

    @Test
    void alone_there_is_nobody_to_wait_for() {
        together.add(4_500, report("a", 3, 3_000), Map.of(), Set.of());
        assertThat(seconds()).containsExactly(3_000L);
    }

    @Test
    void who_was_denied_most_is_ranked_by_all_instances_together() {
        together.add(2_000, report("a", 3), Map.of("b", report("b", 5)), Set.of());
        assertThat(together.since(0).overview().clients())
                .containsExactly(
                        new Glance.Denied("greedy", 8), new Glance.Denied("of a", 7), new Glance.Denied("of b", 7));
        assertThat(together.since(0).overview().policies()).containsExactly(new Glance.OfPolicy("p", 2, 8, 0));
    }

    @Test
    void who_does_not_answer_is_told_so() {
        together.add(4_500, report("a", 3, 3_000), Map.of(), Set.of("z:1"));
        Overview overview = together.since(0).overview();
        assertThat(overview.unreachable()).containsExactly("z:1");
        assertThat(overview.instances())
                .extracting(Overview.Instance::address, Overview.Instance::self, Overview.Instance::health)
                .containsExactly(tuple("a", true, "RUNNING"), tuple("z:1", false, "UNREACHABLE"));
    }

    @Test
    void what_is_kept_is_bounded() {
        for (long at = 1_000; at <= 400_000; at += 1_000) {
            together.add(at + 1_500, report("a", 3, at), Map.of(), Set.of());
        }
        assertThat(seconds()).hasSize(Sampler.SECONDS).startsWith(101_000L).endsWith(400_000L);
    }

    @Test
    void a_report_comes_through_as_it_was() {
        Report report = report("a", 3, 1_000);
        assertThat(Report.read(report.json())).isEqualTo(report);
    }
}
