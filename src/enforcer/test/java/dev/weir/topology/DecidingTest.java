package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitOverride;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.RequestRules;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the path from a request to a decision or a dead letter with RocksDB stores. */
@Tag("slow")
class DecidingTest {

    private static final String JSON_REQUEST = "{\"requestId\":\"j1\",\"client\":\"alice\"}";

    private static final String TWO_A_SECOND =
            "policies: [{id: p, limits: [{algorithm: sliding-window-log, limit: 2, per: 1s}]}]";

    @TempDir
    Path directory;

    private TopologyHarness weir;

    @BeforeEach
    void open() {
        weir = new TopologyHarness(directory.resolve("weir-state"));
    }

    @AfterEach
    void close() {
        weir.close();
    }

    @Test
    void a_request_that_no_policy_matches_is_allowed() {
        Decision decision = weir.ask("alice", 5_000);
        assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decision.reason()).isEqualTo(Reason.NO_POLICY);
        assertThat(decision.policyId()).isNull();
    }

    @Test
    void decisions_count_by_client_and_have_their_reason_and_source() throws Exception {
        weir.apply(TWO_A_SECOND, 4);
        assertThat(weir.ask("alice", 5_000).remaining()).isEqualTo(1);
        assertThat(weir.ask("alice", 5_100).remaining()).isZero();
        assertThat(weir.ask("bob", 5_100).remaining()).isEqualTo(1);
        Decision denied = weir.ask("alice", 5_200);
        assertThat(denied.withContext(DecisionContext.UNKNOWN))
                .isEqualTo(new Decision(
                                new Decision.Identity("r3", "alice", new Request.Source(0, 3)),
                                new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429),
                                new Decision.Timing(5_200, 800L, null))
                        .withLimit(
                                new PolicyVersion("p", 4),
                                new LimitStatus("sliding-window-log 2/1s", 2L, 1_000L, 0L, 900L))
                        .withLimits(List.of(new EnforcedLimit("p", 1, 2, 1_000L, 0L, 900L, 800L))));
    }

    @Test
    void a_limit_of_a_request_decides_it_and_usage_is_one_count_in_avro_and_json() throws Exception {
        weir.apply(
                "policies: [{id: p, allow-override: true, limits: [{algorithm: sliding-window-counter, limit: 2, per: 1m},"
                        + " {algorithm: fixed-window, limit: 50, per: 1h}]}]",
                1);
        LimitOverride ten = new LimitOverride(10, 60_000);
        Decision raised = weir.ask(request("r1", "alice", 8).withLimitOverride(ten));
        assertThat(raised.withContext(DecisionContext.UNKNOWN))
                .isEqualTo(new Decision(
                                new Decision.Identity("r1", "alice", new Request.Source(0, 0)),
                                new Decision.Status(Outcome.ALLOWED, Reason.WITHIN_LIMITS, 200),
                                new Decision.Timing(1, 0L, null))
                        .withLimit(
                                new PolicyVersion("p", 1),
                                new LimitStatus("sliding-window-counter 10/1m", 10L, 60_000L, 2L, 112_500L))
                        .withLimits(List.of(
                                new EnforcedLimit("p", 1, 10, 60_000L, 2L, 112_500L, 0L),
                                new EnforcedLimit("p", 2, 50, 3_600_000L, 42L, 3_599_999L, 0L))));
        weir.pass(Duration.ofSeconds(5)); // the state is written
        Decision own = weir.ask("alice", 2);
        assertThat(own.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(own.limit()).isEqualTo(2);
        assertThat(own.remaining()).isZero();
        String json = "{\"requestId\":\"j\",\"client\":\"alice\",\"limitOverride\":{\"limit\":9,\"windowMs\":60000}}";
        Decision lowered = weir.ask("alice", json.getBytes(StandardCharsets.UTF_8), 3);
        assertThat(lowered.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(lowered.remaining()).isZero();
        assertThat(weir.ask(request("r2", "alice", 1).withLimitOverride(new LimitOverride(99, 3_600_000)))
                        .limitedBy())
                .isEqualTo("sliding-window-counter 2/1m");
    }

    @Test
    void a_changed_policy_keeps_what_limits_of_requests_admitted() throws Exception {
        String policy =
                "policies: [{id: p, allow-override: true, limits: [{algorithm: sliding-window-counter, limit: %d,"
                        + " per: 1m}]}]";
        weir.apply(policy.formatted(2), 1);
        weir.ask(request("r1", "alice", 80).withLimitOverride(new LimitOverride(100, 60_000)));
        weir.apply(policy.formatted(3), 2);
        Decision after = weir.ask(request("r2", "alice", 1).withLimitOverride(new LimitOverride(100, 60_000)));
        assertThat(after.policyVersion()).isEqualTo(2);
        assertThat(after.remaining()).isEqualTo(19);
    }

    @Test
    void time_never_decreases_for_a_client() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        weir.ask("alice", 5_000);
        weir.ask("alice", 5_000);
        Decision late = weir.ask("alice", 1_000);
        assertThat(late.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(late.decidedAtMs()).isEqualTo(5_000);
        assertThat(weir.ask("bob", 1_000).decidedAtMs()).isEqualTo(1_000);
    }

    @Test
    void a_time_far_ahead_does_not_affect_other_clients() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        weir.ask("alice", 5_000);
        weir.ask("alice", 5_000);
        weir.ask("mallory", RequestRules.MAX_TIMESTAMP_MS);
        weir.ask("bob", 5_010);
        weir.pass(Duration.ofSeconds(5)); // runs the state cleaner
        assertThat(weir.ask("alice", 5_020).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_changed_policy_applies_to_earlier_usage() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        weir.ask("alice", 5_000);
        weir.ask("alice", 5_000);
        weir.apply("policies: [{id: p, limits: [{algorithm: sliding-window-log, limit: 3, per: 1s}]}]", 2);
        Decision third = weir.ask("alice", 5_000);
        assertThat(third.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(third.policyVersion()).isEqualTo(2);
        assertThat(weir.ask("alice", 5_000).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_reset_frees_the_usage_of_its_client_alone() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        for (String client : List.of("alice", "bob")) {
            assertThat(weir.ask(client, 2, 5_000).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(weir.ask(client, 1, 5_000).outcome()).isEqualTo(Outcome.DENIED);
        }
        byte[] reset = JSON_REQUEST.replace("}", ",\"kind\":\"RESET\"}").getBytes(StandardCharsets.UTF_8);
        assertThat(weir.ask("alice", reset, 5_000).reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(weir.ask("alice", 2, 5_000).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(weir.ask("bob", 1, 5_000).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_deleted_policy_is_out_of_force() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        assertThat(weir.ask("alice", 3, 5_000).outcome()).isEqualTo(Outcome.DENIED);
        weir.policy("p", new PolicyAvro().encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", 2, null, 0)));
        assertThat(weir.ask("alice", 3, 5_000).reason()).isEqualTo(Reason.NO_POLICY);
        weir.apply(TWO_A_SECOND, 3);
        assertThat(weir.ask("alice", 3, 5_000).outcome()).isEqualTo(Outcome.DENIED);
        weir.policy("p", null);
        assertThat(weir.ask("alice", 3, 5_000).reason()).isEqualTo(Reason.NO_POLICY);
    }

    @Test
    void an_unreadable_policy_record_leaves_the_previous_version_in_force() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        weir.policy("p", "nonsense".getBytes(StandardCharsets.UTF_8));
        assertThat(weir.ask("alice", 5_000).policyVersion()).isEqualTo(1);
    }

    @Test
    void idle_states_are_deleted_with_their_segments_and_live_ones_are_kept() throws Exception {
        weir.apply("policies: [{id: p, limits: [{algorithm: sliding-window-log, limit: 1000, per: 1m}]}]", 1);
        for (int i = 0; i < 500; i++) {
            weir.ask("idle", i);
        }
        assertThat(weir.stored(Stores.LOG_SEGMENTS)).isGreaterThan(10);
        long later = Duration.ofHours(2).toMillis();
        weir.ask("busy", later);
        weir.pass(Duration.ofSeconds(1)); // runs the state cleaner, for which the earliest request is still an old one
        assertThat(weir.stored(Stores.POLICY_STATES)).isEqualTo(2);
        weir.ask("busy", later);
        for (int i = 0; i < 20; i++) {
            weir.pass(Duration.ofMinutes(15));
        }
        assertThat(weir.stored(Stores.POLICY_STATES)).isEqualTo(1);
        assertThat(weir.stored(Stores.LOG_SEGMENTS)).isZero();
        assertThat(weir.ask("busy", later).remaining()).isEqualTo(997);
        assertThat(weir.ask("idle", later).remaining()).isEqualTo(999);
    }

    @Test
    void a_log_of_20000_entries_writes_as_little_as_one_of_10() throws Exception {
        weir.apply(
                "policies: [{id: p, limits: [{algorithm: sliding-window-log, limit: 20000, per: 20s}]},"
                        + "{id: q, layer: small, limits: [{algorithm: sliding-window-log, limit: 10, per: 10ms}]}]",
                1);
        for (int i = 0; i < 20_000; i++) {
            weir.ask("alice", i);
        }
        assertThat(weir.ask("alice", 19_999).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(weir.ask("alice", 20_000).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(longestState()).isLessThan(300);
    }

    private int longestState() {
        int longest = 0;
        try (var all = weir.store(Stores.POLICY_STATES).all()) {
            while (all.hasNext()) {
                longest = Math.max(longest, ((byte[]) all.next().value).length);
            }
        }
        return longest;
    }

    @Test
    void a_repeated_request_receives_the_first_answer_and_is_charged_once() throws Exception {
        weir.apply(TWO_A_SECOND.replace("limits:", "idempotency: 10m, limits:"), 4);
        Decision first = weir.ask(request("a", "alice", 1));
        assertThat(first.repeated()).isFalse();
        assertThat(first.source()).isEqualTo(new Request.Source(0, 0));
        assertThat(weir.ask(request("a", "alice", 1))).isEqualTo(first.asRepeated(new Request.Source(0, 1)));
        assertThat(weir.ask(request("b", "alice", 1)).remaining()).isZero();
        Decision denied = weir.ask(request("c", "alice", 1));
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        weir.pass(Duration.ofHours(1)); // the machine's clock has no effect
        assertThat(weir.ask(request("c", "alice", 1))).isEqualTo(denied.asRepeated(new Request.Source(0, 4)));
        assertThat(weir.stored(Stores.IDEMPOTENCY)).isEqualTo(2 * 3); // each answer has an eviction note
    }

    @Test
    void an_id_with_other_content_is_denied() throws Exception {
        weir.apply(TWO_A_SECOND.replace("limits:", "idempotency: 10m, limits:"), 1);
        weir.ask(request("k", "alice", 0));
        for (int i = 0; i < 10; i++) {
            assertThat(weir.ask(request("k", "alice", 2)))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns(Reason.IDEMPOTENCY_MISMATCH, Decision::reason)
                    .returns(422, Decision::httpStatus);
        }
        assertThat(weir.ask(request("l", "alice", 2)).remaining()).isZero();
        assertThat(weir.ask(request("k", "alice", 0)).repeated()).isTrue();
    }

    @Test
    void first_answers_are_deleted_when_they_expire() throws Exception {
        weir.apply(TWO_A_SECOND.replace("limits:", "idempotency: 1s, limits:"), 1);
        for (int i = 0; i < 1_000; i++) {
            weir.ask("alice", 0);
        }
        long later = Duration.ofHours(1).toMillis() + 1_000;
        for (int i = 0; i < 2_000; i++) {
            weir.ask("alice", later);
        }
        assertThat(weir.stored(Stores.IDEMPOTENCY)).isEqualTo(2 * 2_000);
    }

    @Test
    void without_idempotency_no_answer_is_kept() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        assertThat(weir.ask(request("a", "alice", 1)).remaining()).isEqualTo(1);
        assertThat(weir.ask(request("a", "alice", 1)).remaining()).isZero();
        assertThat(weir.stored(Stores.IDEMPOTENCY)).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a\0", "\u007f", "\u0080", "żółw", "\uD83D\uDE00 a"})
    void a_client_may_have_any_name(String client) throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        assertThat(weir.ask(request("r", client, 1)).client()).isEqualTo(client);
        assertThat(weir.ask(request("r", client, 1)).remaining()).isZero();
    }

    /** A record that is not a valid request, with the reason and detail of its dead letter. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Bad(String reason, String detail, byte[] key, byte[] value, long timestampMs) {
        Bad(String reason, String detail, Request request) {
            this(
                    reason,
                    detail,
                    request.client().getBytes(StandardCharsets.UTF_8),
                    new RequestCodec().encode(request),
                    request.timestampMs());
        }

        @Override
        public String toString() {
            return reason;
        }
    }

    private static Bad bad(String reason, String detail, String value) {
        return new Bad(
                reason, detail, "alice".getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8), 1);
    }

    @Test
    void a_request_in_json_is_decided_like_one_in_avro() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        byte[] json = JSON_REQUEST.getBytes(StandardCharsets.UTF_8);
        Decision first = weir.ask("alice", json, 7);
        assertThat(first.requestId()).isEqualTo("j1");
        assertThat(first.client()).isEqualTo("alice");
        assertThat(first.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(first.remaining()).isEqualTo(1);
        assertThat(weir.ask("alice", 8).remaining()).isZero();
        assertThat(weir.ask("alice", json, 9).outcome()).isEqualTo(Outcome.DENIED);
    }

    static List<Bad> badRecords() {
        byte[] alice = "alice".getBytes(StandardCharsets.UTF_8);
        byte[] good = new RequestCodec().encode(request("r", "alice", 1));
        byte[] unknown = good.clone();
        unknown[2]++;
        byte[] cut = java.util.Arrays.copyOf(good, good.length - 1);
        Map<String, String> many = new HashMap<>();
        IntStream.range(0, 65).forEach(i -> many.put("a" + i, ""));
        return List.of(
                bad("UNKNOWN_FORMAT", "it begins with 68 65 6c 6c 6f 2c 20 77", "hello, world"),
                bad("UNKNOWN_FORMAT", "it is empty", ""),
                bad("UNKNOWN_FORMAT", "00 00 00 00 05 0a. It looks like Confluent's wire", "\0\0\0\0\5\n"),
                bad("UNKNOWN_FORMAT", "Send each request of a JSON array as a record", "[{}]"),
                bad("UNKNOWN_FORMAT", "It looks like JSON that was serialized twice", "\"{}\""),
                bad("UNKNOWN_FORMAT", "Remove what precedes the {", "\uFEFF{}"),
                bad("NOT_JSON", "the value: is not valid JSON: ", "{"),
                bad("NO_CLIENT", "the value: client is required", "{\"requestId\":\"r\"}"),
                bad("NO_REQUEST_ID", "the value: requestId is required", "{\"client\":\"alice\"}"),
                bad("NOT_JSON", "the value: cost must be a whole number, is '1'", "{\"cost\":\"1\"}"),
                bad("NOT_JSON", "the value: unknown field 'id'", "{\"id\":\"1\"}"),
                bad("NOT_JSON", "the value: timestamp cannot be set: it is that of the record", "{\"timestamp\":1}"),
                bad("NOT_JSON", "the value: client appears twice", "{\"client\":\"a\",\"client\":\"b\"}"),
                bad("NOT_JSON", "the value: has content after the JSON object", JSON_REQUEST + "{}"),
                new Bad("NOT_JSON", "the value is not UTF-8", alice, new byte[] {'{', (byte) 0xC3, '}'}, 1),
                bad("NEGATIVE_COST", "cost ", JSON_REQUEST.replace("}", ",\"cost\":-1}")),
                new Bad("NOT_AVRO", "", alice, cut, 1),
                new Bad("NOT_AVRO", "the record has no value", alice, null, 1),
                new Bad("UNKNOWN_SCHEMA", "Cannot resolve schema", alice, unknown, 1),
                new Bad("NO_CLIENT", "client is empty", request("r", "", 1)),
                new Bad(
                        "CLIENT_TOO_LONG",
                        "client has 257 characters; the maximum is 256",
                        request("r", "c".repeat(257), 1)),
                new Bad("NO_REQUEST_ID", "requestId is empty", request("", "alice", 1)),
                new Bad("REQUEST_ID_TOO_LONG", "requestId has 257 characters", request("r".repeat(257), "alice", 1)),
                new Bad("NEGATIVE_COST", "cost must be 0 or more, is -1", request("r", "alice", -1)),
                new Bad("COST_TOO_LARGE", "cost must be at most ", request("r", "alice", Long.MAX_VALUE)),
                new Bad("TIER_TOO_LONG", "tier has 257 characters", request("t".repeat(257), null, Map.of(), null, 1)),
                new Bad("NEGATIVE_SIZE", "sizeBytes must be 0 or more, is -1", request(null, -1L, Map.of(), null, 1)),
                new Bad(
                        "INVALID_LIMIT_OVERRIDE",
                        "limitOverride.limit must be 0 to 1152921504606846976, is -1",
                        request("r", "alice", 1).withLimitOverride(new LimitOverride(-1, 1))),
                new Bad(
                        "INVALID_QUEUE",
                        "queue must be the one named in the QUEUED decision, or left out to cancel a reservation,"
                                + " is '\\u001b[2J\\u000ax'",
                        cancel("\u001b[2J\nx")),
                new Bad(
                        "INVALID_RESERVATION",
                        "reserve must be 1 to 2592000000 ms, is 0",
                        request("r", "alice", 1).toBuilder().reserveMs(0L).build()),
                new Bad(
                        "INVALID_RESERVATION",
                        "settles is for requests of the kind SETTLE, this is a CONSUME",
                        request("r", "alice", 1).toBuilder().settles("r0").build()),
                new Bad(
                        "INVALID_NOT_BEFORE",
                        "notBefore must be at most 30 days after the timestamp, that is 2592000001 ms since 1970",
                        request("r", "alice", 1).toBuilder()
                                .notBeforeMs(2_592_000_002L)
                                .build()),
                new Bad(
                        "PAYLOAD_TOO_LARGE",
                        "payload has 65537 bytes; the maximum is 65536",
                        request(null, null, Map.of(), new byte[65_537], 1)),
                new Bad("ATTRIBUTES_TOO_LARGE", "65 attributes; the maximum is 64", request(null, null, many, null, 1)),
                new Bad(
                        "ATTRIBUTES_TOO_LARGE",
                        "an attribute has 1025 characters",
                        request(null, null, Map.of("a", "x".repeat(1_025)), null, 1)),
                new Bad(
                        "TIMESTAMP_OUT_OF_RANGE",
                        "timestamp must be in the years 1970 to 9999, in ms since 1970, is 253402300800000",
                        request(null, null, Map.of(), null, RequestRules.MAX_TIMESTAMP_MS + 1)));
    }

    private static Request cancel(String queue) {
        return Request.builder("r", "alice")
                .kind(RequestKind.CANCEL)
                .queue(queue)
                .timestampMs(1)
                .source(TopologyHarness.NOWHERE)
                .build();
    }

    @ParameterizedTest
    @MethodSource("badRecords")
    void an_invalid_request_is_a_dead_letter_and_the_partition_continues(Bad bad) throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        weir.ask("alice", 1_000);
        weir.raw(bad.key, bad.value, bad.timestampMs);

        TestRecord<byte[], byte[]> dead = weir.deadLetter();
        assertThat(dead.key()).isEqualTo(bad.key);
        assertThat(dead.value()).isEqualTo(bad.value);
        assertThat(header(dead.headers(), "weir.reason")).isEqualTo(bad.reason);
        assertThat(header(dead.headers(), "weir.detail")).contains(bad.detail);
        assertThat(header(dead.headers(), "weir.source.topic")).isEqualTo("weir.requests");
        assertThat(header(dead.headers(), "weir.source.partition")).isEqualTo("0");
        assertThat(header(dead.headers(), "weir.source.offset")).isEqualTo("1");
        assertThat(header(dead.headers(), "weir.source.timestamp")).isEqualTo(String.valueOf(bad.timestampMs));
        assertThat(weir.ask("alice", 1_000).remaining()).isZero(); // bad records charged nothing and blocked nothing
        assertThat(weir.leftOver()).containsExactly("0 decisions", "0 dead letters");
    }

    @Test
    void a_record_too_large_for_the_output_topics_is_a_dead_letter_without_its_value() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        byte[] alice = "alice".getBytes(StandardCharsets.UTF_8);
        weir.raw(alice, new byte[2 << 20], 1);
        TestRecord<byte[], byte[]> dead = weir.deadLetter();
        assertThat(dead.key()).isEqualTo(alice);
        assertThat(dead.value()).isNull();
        assertThat(header(dead.headers(), "weir.reason")).isEqualTo("RECORD_TOO_LARGE");
        assertThat(header(dead.headers(), "weir.detail"))
                .isEqualTo("the record has 2097157 bytes; the maximum is 2097152");
        assertThat(weir.ask("alice", 1_000).remaining()).isEqualTo(1);
    }

    @Test
    void a_policy_under_a_key_that_is_not_its_own_is_not_in_force() throws Exception {
        weir.apply(TWO_A_SECOND, 1);
        String blocked = "policies: [{id: p, limits: [{algorithm: gcra, limit: 0}]}]";
        PolicyFile.Definition definition =
                PolicyFile.read("test", blocked).policies().get(0);
        PolicyAvro avro = new PolicyAvro();
        weir.policy("q", avro.encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", 2, definition.json(), 0)));
        weir.policy("q", avro.encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "q", 2, definition.json(), 0)));
        assertThat(weir.ask("alice", 1_000).policyVersion()).isEqualTo(1);
        assertThat(weir.ask("alice", 1_000).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    private static Request request(String requestId, String client, long cost) {
        return Request.builder(requestId, client)
                .cost(cost)
                .timestampMs(1)
                .source(TopologyHarness.NOWHERE)
                .build();
    }

    private static Request request(String tier, Long size, Map<String, String> attributes, byte[] payload, long at) {
        return Request.builder("r", "alice")
                .tier(tier)
                .sizeBytes(size)
                .attributes(attributes)
                .payload(payload)
                .timestampMs(at)
                .source(TopologyHarness.NOWHERE)
                .build();
    }

    private static String header(Headers headers, String name) {
        return new String(headers.lastHeader(name).value(), StandardCharsets.UTF_8);
    }
}
