package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.live.LimitedReport.LimitedClient;
import dev.weir.live.LimitedReport.PolicyResults;
import dev.weir.live.LimitedReport.Selection;
import dev.weir.metrics.EnforcerMetrics.Evaluation;
import dev.weir.metrics.LimitedRequest;
import dev.weir.metrics.RecentRing;
import dev.weir.wire.json.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LimitedHistoryTest {

    private static final long SECOND = 1_000;
    private static final long MINUTE = 60 * SECOND;
    private static final long HOUR = 60 * MINUTE;
    private static final long START = 24 * HOUR * 20_000;

    private static final Selection ALL = selection(null, null, null, LimitedReport.MAX_ENTRIES);

    private final LimitedHistory history = new LimitedHistory();

    private static Selection selection(String client, String policy, String reason, int most) {
        return new Selection(
                Optional.ofNullable(client), Optional.ofNullable(policy), Optional.ofNullable(reason), most);
    }

    private void add(long atMs, String client, int times) {
        List<LimitedRequest> limited =
                Collections.nCopies(times, new LimitedRequest(client, "p", Reason.LIMIT_EXCEEDED));
        add(atMs, limited, limited.size());
    }

    private void add(long atMs, List<LimitedRequest> limited, long all) {
        history.add(
                atMs,
                new RecentRing.Snapshot<>(all, limited),
                all,
                Map.of(new Evaluation("p", Outcome.DENIED), all, new Evaluation("q", Outcome.ALLOWED), 1L));
    }

    private LimitedReport last(long periodMs, long nowMs) {
        return history.since(nowMs - periodMs, nowMs, ALL);
    }

    private static LimitedClient limited(String client, long requests) {
        return new LimitedClient(client, "p", "LIMIT_EXCEEDED", requests);
    }

    @Test
    void a_period_has_the_slots_that_end_in_it() {
        add(START, "early", 2);
        add(START + 70 * SECOND, "late", 3);
        long now = START + 75 * SECOND;
        assertThat(last(MINUTE, now).clients()).containsExactly(limited("late", 3));
        assertThat(last(2 * MINUTE, now).clients()).containsExactly(limited("late", 3), limited("early", 2));
        assertThat(last(MINUTE, now).from()).isEqualTo(START + 70 * SECOND);
        assertThat(last(24 * HOUR, now))
                .isEqualTo(new LimitedReport(
                        START,
                        now,
                        true,
                        5,
                        List.of(limited("late", 3), limited("early", 2)),
                        List.of(new PolicyResults("p", 0, 5, 0), new PolicyResults("q", 2, 0, 0))));
        assertThat(new LimitedHistory().since(5, 9, ALL))
                .isEqualTo(new LimitedReport(5, 9, true, 0, List.of(), List.of()));
    }

    @Test
    void what_is_older_than_a_day_is_forgotten() {
        for (long at = START; at <= START + 25 * HOUR; at += MINUTE) {
            add(at, "steady", 1);
        }
        long now = START + 25 * HOUR;
        assertThat(last(5 * MINUTE, now).requests()).isBetween(5L, 6L);
        assertThat(last(HOUR, now).requests()).isBetween(60L, 62L);
        assertThat(last(24 * HOUR, now).requests()).isBetween(24 * 60L, 24 * 60L + 11);
        assertThat(last(90 * HOUR, now).requests()).isBetween(24 * 60L, 24 * 60L + 11);
    }

    @Test
    void a_slot_that_is_over_keeps_the_most_limited_clients_and_says_that_some_are_missing() {
        List<LimitedRequest> limited = new ArrayList<>();
        for (int client = 0; client <= LimitedHistory.KEPT; client++) {
            LimitedRequest request = new LimitedRequest("client " + client, "p", Reason.LIMIT_EXCEEDED);
            limited.addAll(Collections.nCopies(client == 7 ? 1 : 2, request));
        }
        add(START, limited, limited.size());
        assertThat(last(MINUTE, START + SECOND)).satisfies(report -> {
            assertThat(report.exact()).isTrue();
            assertThat(report.clients()).hasSize(LimitedHistory.KEPT + 1).endsWith(limited("client 7", 1));
        });
        add(START + 10 * SECOND, "other", 1);
        assertThat(last(MINUTE, START + 11 * SECOND)).satisfies(report -> {
            assertThat(report.exact()).isFalse();
            assertThat(report.requests()).isEqualTo(limited.size() + 1);
            assertThat(report.clients()).hasSize(LimitedHistory.KEPT + 1).doesNotContain(limited("client 7", 1));
        });
    }

    @Test
    void sampled_requests_are_scaled_to_all() {
        List<LimitedRequest> sample = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            sample.add(new LimitedRequest(i == 0 ? "seldom" : "often", "p", Reason.THROTTLED));
        }
        add(START, sample, 400);
        assertThat(last(MINUTE, START)).satisfies(report -> {
            assertThat(report.exact()).isFalse();
            assertThat(report.clients())
                    .containsExactly(
                            new LimitedClient("often", "p", "THROTTLED", 300),
                            new LimitedClient("seldom", "p", "THROTTLED", 100));
        });
    }

    @Test
    void after_the_clock_was_set_back_nothing_is_counted_twice() {
        add(START, "a", 1);
        add(START + HOUR, "b", 1);
        add(START + 2 * HOUR, "c", 1);
        add(START + HOUR, "d", 1);
        assertThat(last(24 * HOUR, START + HOUR).clients()).containsExactly(limited("a", 1), limited("d", 1));
    }

    @Test
    void entries_are_selected_and_instances_added_up() {
        List<LimitedRequest> limited = List.of(
                new LimitedRequest("a", "p", Reason.LIMIT_EXCEEDED),
                new LimitedRequest("a", "q", Reason.QUEUE_FULL),
                new LimitedRequest("b", "p", Reason.LIMIT_EXCEEDED),
                new LimitedRequest("b", "p", Reason.LIMIT_EXCEEDED));
        add(START, limited, limited.size());
        LimitedReport own = last(MINUTE, START);
        List<LimitedReport> both = List.of(own, LimitedReport.read(Json.write(own)));
        assertThat(LimitedReport.sum(both, selection(null, null, null, 2)).clients())
                .containsExactly(limited("b", 4), limited("a", 2));
        assertThat(LimitedReport.sum(both, selection("a", null, null, 9)).clients())
                .containsExactly(limited("a", 2), new LimitedClient("a", "q", "QUEUE_FULL", 2));
        assertThat(LimitedReport.sum(both, selection(null, "q", null, 9))).satisfies(report -> {
            assertThat(report.clients()).containsExactly(new LimitedClient("a", "q", "QUEUE_FULL", 2));
            assertThat(report.policies()).containsExactly(new PolicyResults("q", 2, 0, 0));
            assertThat(report.requests()).as("of all").isEqualTo(8);
        });
        assertThat(history.since(START - MINUTE, START, selection("b", "p", "QUEUE_FULL", 9))
                        .clients())
                .isEmpty();
        assertThat(selection("a b&", null, "QUEUE_FULL", 9).query()).isEqualTo("&client=a+b%26&reason=QUEUE_FULL");
    }

    @Test
    void an_incomplete_report_of_another_instance_is_rejected() {
        for (String report : List.of("{", "{}", "{\"clients\":[{}],\"policies\":[]}")) {
            assertThatThrownBy(() -> LimitedReport.read(report))
                    .as(report)
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
