package dev.weir.backtest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Receipt;
import dev.weir.event.Request;
import dev.weir.limit.FixedWindow;
import dev.weir.policy.PolicyTable;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonLines;
import dev.weir.wire.json.ReleaseJson;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class BacktestTest {

    private static final Clock NOON = Clock.fixed(Instant.ofEpochMilli(43_200_000), ZoneOffset.UTC);
    private static final String ONE_A_SECOND =
            "policies: [{id: p, limits: [{algorithm: fixed-window, limit: 1, per: 1s}]}]";

    @Test
    void the_demo_matches_an_independent_count() throws Exception {
        JsonNode expected;
        try (InputStream in = BacktestTest.class.getResourceAsStream("/demo/expected.json")) {
            expected = new ObjectMapper().readTree(in);
        }
        DecisionStats tally = backtest(DemoTrace.policies()).run(DemoTrace.open(), null, null);
        assertThat(tally.all().requests()).isEqualTo(expected.get("requests").asLong());
        assertThat(tally.all().allowed()).isEqualTo(expected.get("allowed").asLong());
        assertThat(tally.all().queued()).isEqualTo(expected.get("queued").asLong());
        for (String[] queue : new String[][] {{"archive", "history-pages"}, {"shuttle", "shuttle-pages"}}) {
            assertThat(tally.byQueue().get(queue[0]).all().released())
                    .isEqualTo(
                            expected.get("byPolicy").get(queue[1]).get("queued").asLong())
                    .isPositive();
        }
        assertThat(tally.all().denied())
                .isEqualTo(expected.get("denied").asLong())
                .isPositive();
        assertSame(tally.byPolicy(), expected.get("byPolicy"));
        assertSame(tally.byTier(), expected.get("byTier"));
        List<String> top = new ArrayList<>();
        expected.get("topLimited")
                .forEach(row -> top.add(row.get(0).asText() + " " + row.get(1).asLong()));
        assertThat(tally.topLimited(10))
                .extracting(hitter -> hitter.name() + " " + hitter.count())
                .containsExactlyElementsOf(top);
    }

    private static void assertSame(Map<String, DecisionStats.Counts> counts, JsonNode expected) {
        List<String> want = new ArrayList<>();
        expected.properties()
                .forEach(entry -> want.add(entry.getKey() + " "
                        + entry.getValue().get("allowed").asLong() + " "
                        + entry.getValue().get("queued").asLong() + " "
                        + entry.getValue().get("denied").asLong()));
        assertThat(counts.entrySet())
                .extracting(entry -> entry.getKey() + " " + entry.getValue().allowed() + " "
                        + entry.getValue().queued() + " " + entry.getValue().denied())
                .containsExactlyInAnyOrderElementsOf(want);
    }

    @Test
    void a_queue_drains_by_request_times_and_empties_after_the_last() throws Exception {
        StringWriter decisions = new StringWriter();
        StringWriter releases = new StringWriter();
        String requests = """
                {"requestId":"f1","client":"a","tier":"free","timestamp":1000}
                {"requestId":"f2","client":"a","tier":"free","timestamp":1000}
                {"requestId":"g1","client":"b","tier":"gold","timestamp":1000,"payload":"aGk="}
                {"requestId":"f3","client":"a","tier":"free","timestamp":1500,"deadline":2100}
                {"requestId":"f2","client":"a","tier":"free","timestamp":2600,"kind":"CANCEL","queue":"q"}
                {"requestId":"f4","client":"a","tier":"free","timestamp":2600}
                """;
        String rules = """
                policies: [{id: all, queue: q}]
                queues: [{id: q, limit: 3, per: 3s, tiers: {gold: {priority: 1}}}]
                """;
        try (DecisionJson decisionsOut = new DecisionJson(decisions);
                ReleaseJson releasesOut = new ReleaseJson(releases)) {
            backtest(rules).run(lines(requests), decisionsOut, releasesOut);
        }
        assertThat(releases.toString().lines().map(BacktestTest::release))
                .containsExactly("1 g1 1000 0", "2 f1 2000 1000", "3 f4 3000 400");
        assertThat(decisions.toString()).contains("\"CANCELLED\"", "\"TOO_LATE\"");
    }

    @Test
    void a_repeated_request_gets_the_first_decision_and_is_released_once() throws Exception {
        StringWriter decisions = new StringWriter();
        StringWriter releases = new StringWriter();
        String requests = """
                {"requestId":"a","client":"c","timestamp":1000}
                {"requestId":"a","client":"c","timestamp":1500}
                {"requestId":"b","client":"c","timestamp":2000}
                {"requestId":"b","client":"c","timestamp":9000}
                {"requestId":"a","client":"c","timestamp":61000}
                """;
        String rules = """
                policies:
                  - id: p
                    limits: [{algorithm: fixed-window, limit: 1, per: 1h}]
                    on-exceed: shape
                    queue: q
                    idempotency: 1m
                queues: [{id: q, limit: 1, per: 1s}]
                """;
        try (DecisionJson decisionsOut = new DecisionJson(decisions);
                ReleaseJson releasesOut = new ReleaseJson(releases)) {
            backtest(rules).run(lines(requests), decisionsOut, releasesOut);
        }
        assertThat(decisions.toString().lines().map(BacktestTest::answer))
                .containsExactly(
                        "a ALLOWED false 1000 0",
                        "a ALLOWED true 1000 1",
                        "b QUEUED false 2000 2",
                        "b QUEUED true 2000 3",
                        "a QUEUED false 61000 4");
        assertThat(releases.toString().lines().map(BacktestTest::release)).containsExactly("1 b 2000 0", "2 a 61000 0");
    }

    @Test
    void a_reused_id_with_other_content_is_denied_and_not_charged() throws Exception {
        String requests = """
                {"requestId":"a","client":"c","timestamp":1000}
                {"requestId":"a","client":"c","timestamp":1001,"cost":2}
                {"requestId":"a","client":"c","timestamp":1002}
                {"requestId":"b","client":"c","timestamp":1003,"cost":4}
                """;
        assertThat(decisions(
                        "policies: [{id: p, limits: [{algorithm: fixed-window, limit: 5, per: 1h}], idempotency: 1m}]",
                        requests))
                .containsExactly(
                        "a ALLOWED WITHIN_LIMITS 200 4",
                        "a DENIED IDEMPOTENCY_MISMATCH 422 null",
                        "a ALLOWED WITHIN_LIMITS 200 4",
                        "b ALLOWED WITHIN_LIMITS 200 0");
    }

    @Test
    void a_refund_of_a_shared_limit_is_denied_as_the_enforcer_does() throws Exception {
        String requests = """
                {"requestId":"a","client":"c","timestamp":1000,"cost":4}
                {"requestId":"a","client":"d","timestamp":1001,"cost":-3,"kind":"SETTLE"}
                {"requestId":"a","client":"d","timestamp":1002,"cost":1000000000000,"kind":"SETTLE"}
                {"requestId":"b","client":"c","timestamp":3600000,"kind":"PEEK"}
                """;
        assertThat(decisions("policies: [{id: p, key: [], limits: [{algorithm: gcra, limit: 6, per: 1h}]}]", requests))
                .containsExactly(
                        "a ALLOWED WITHIN_LIMITS 200 2",
                        "a DENIED SHARED_LIMIT_REFUND 422 null",
                        "a ALLOWED SETTLED 200 0",
                        "b DENIED LIMIT_EXCEEDED 429 0");
    }

    /** Returns a line for each decision: id, outcome, reason, status and remaining quota. */
    private static List<String> decisions(String rules, String requests) throws Exception {
        StringWriter out = new StringWriter();
        try (DecisionJson json = new DecisionJson(out)) {
            backtest(rules).run(lines(requests), json, null);
        }
        List<String> decisions = new ArrayList<>();
        for (String line : out.toString().lines().toList()) {
            JsonNode decision = new ObjectMapper().readTree(line);
            decisions.add(decision.get("requestId").asText() + " "
                    + decision.get("outcome").asText() + " "
                    + decision.get("reason").asText() + " " + decision.get("httpStatus") + " "
                    + decision.get("remaining"));
        }
        return decisions;
    }

    private static String answer(String line) {
        try {
            JsonNode decision = new ObjectMapper().readTree(line);
            return decision.get("requestId").asText() + " "
                    + decision.get("outcome").asText() + " " + decision.get("repeated") + " "
                    + decision.get("decidedAt") + " " + decision.get("sourceOffset");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void a_release_that_costs_nothing_has_no_gap_per_token() throws Exception {
        String requests = """
                {"requestId":"a","client":"c","timestamp":1000,"cost":1}
                {"requestId":"b","client":"c","timestamp":1001,"cost":1}
                {"requestId":"c","client":"c","timestamp":1002,"cost":0}
                {"requestId":"d","client":"c","timestamp":1003,"cost":2}
                """;
        String rules = "policies: [{id: p, queue: q}]\nqueues: [{id: q, key: [client], limit: 1, per: 1s}]";
        QueueStats.Spacing spacing = backtest(rules)
                .run(lines(requests), null, null)
                .byQueue()
                .get("q")
                .spacing();
        assertThat(spacing.count()).as("only that from b to c").isEqualTo(1);
        assertThat(spacing.ms(100)).isZero();
    }

    @Test
    void a_queue_that_would_drain_for_centuries_ends_the_backtest() {
        StringBuilder requests = new StringBuilder();
        for (int i = 0; i < 3_000; i++) {
            requests.append("{\"requestId\":\"r%d\",\"client\":\"c\",\"timestamp\":1795219200000}\n".formatted(i));
        }
        String rules = "policies: [{id: all, queue: q}]\nqueues: [{id: q, limit: 1, per: 30d}]";
        assertThatThrownBy(() -> backtest(rules).run(lines(requests.toString()), null, null))
                .hasMessage("the queues would not drain before the year 2200");
    }

    @Test
    void each_release_of_a_queue_with_slots_is_completed_at_once() throws Exception {
        String receipt = new Receipt("q", Map.of(), new Receipt.FlowName("", ""), 0, Request.Source.NONE, 1).text();
        String requests = """
                {"requestId":"a","client":"c","timestamp":1000}
                {"requestId":"x","client":"c","timestamp":1000,"kind":"COMPLETE","receipt":"%s","result":"retry"}
                {"requestId":"b","client":"c","timestamp":1000,"cost":2}
                {"requestId":"c","client":"c","timestamp":1500}
                """.formatted(receipt);
        String rules = "policies: [{id: all, queue: q}]\nqueues: [{id: q, max-in-flight: 2}]";
        StringWriter releases = new StringWriter();
        DecisionStats stats;
        try (ReleaseJson out = new ReleaseJson(releases)) {
            stats = backtest(rules).run(lines(requests), null, out);
        }
        assertThat(releases.toString().lines().map(BacktestTest::release))
                .containsExactly("1 a 1000 0", "2 b 1000 0", "3 c 1500 0");
        assertThat(stats.all().requests()).isEqualTo(3);
        assertThat(stats.byQueue().get("q").all().released()).isEqualTo(3);
    }

    private static String release(String line) {
        try {
            JsonNode release = new ObjectMapper().readTree(line);
            return release.get("sequence") + " " + release.get("requestId").asText() + " " + release.get("releaseAt")
                    + " " + release.get("waitMs");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void a_request_without_a_time_has_the_current_time_and_its_line_as_offset() throws Exception {
        StringWriter out = new StringWriter();
        try (DecisionJson json = new DecisionJson(out)) {
            backtest(ONE_A_SECOND)
                    .run(
                            lines("{\"requestId\":\"a\",\"client\":\"c\"}\n\n{\"requestId\":\"b\",\"client\":\"c\"}"),
                            json,
                            null);
        }
        assertThat(out.toString().lines())
                .satisfiesExactly(
                        line -> assertThat(line)
                                .contains(
                                        "\"requestId\":\"a\"",
                                        "ALLOWED",
                                        "\"decidedAt\":43200000",
                                        "\"sourceOffset\":0"),
                        line -> assertThat(line)
                                .contains(
                                        "\"requestId\":\"b\"",
                                        "DENIED",
                                        "\"decidedAt\":43200000",
                                        "\"sourceOffset\":1"));
    }

    @Test
    void an_invalid_line_ends_the_backtest_and_is_named() {
        NdjsonLines lines =
                lines("{\"requestId\":\"a\",\"client\":\"c\"}\n{\"requestId\":\"b\",\"client\":\"c\",\"cost\":-1}\n");
        assertThatThrownBy(() -> backtest(ONE_A_SECOND).run(lines, null, null))
                .isInstanceOf(BadRequestException.class)
                .hasMessage("requests:2: cost must be 0 or more, is -1; only a SETTLE can have a negative cost");
    }

    @Test
    void expired_states_of_a_million_clients_are_removed() {
        PolicyTable table = PolicyTable.of(List.of(new dev.weir.policy.Policy(
                "p",
                1,
                dev.weir.policy.EffectivePeriod.ALWAYS,
                "client",
                0,
                dev.weir.policy.RequestMatcher.ALL,
                List.of("client"),
                List.of(new dev.weir.policy.Policy.Term("l", new FixedWindow(5, 1_000, false))),
                null,
                dev.weir.policy.OnExceed.DENY,
                0,
                null)));
        WeirConfig.State defaults = WeirConfig.DEFAULTS.state();
        WeirConfig.State config = new WeirConfig.State(
                defaults.directory(),
                defaults.memoryBytes(),
                defaults.hotMemoryBytes(),
                defaults.cleanupInterval(),
                defaults.cleanupKeys(),
                Duration.ofSeconds(1),
                defaults.most());
        HeapStates states = new HeapStates(config);
        int most = 0;
        for (int i = 0; i < 1_000_000; i++) { // one per millisecond, so about 2,000 are live at a time
            Request request =
                    Request.builder("r", "c" + i).timestampMs(i).source(0, i).build();
            states.observe(i);
            Decider.local(states).decide(request, table);
            most = Math.max(most, states.size());
        }
        assertThat(most).isLessThan(30_000);
    }

    private static Backtest backtest(String yaml) throws Exception {
        return new Backtest(PolicyFile.read("policies.yaml", yaml), WeirConfig.DEFAULTS, NOON);
    }

    private static NdjsonLines lines(String text) {
        return new NdjsonLines("requests", new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }
}
