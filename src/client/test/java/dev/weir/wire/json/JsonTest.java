package dev.weir.wire.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitOverride;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class JsonTest {

    private static final Request.Source SOURCE = new Request.Source(0, 7);

    @Test
    void a_request_with_every_field() {
        Request request = RequestJson.read(
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"kind\":\"SETTLE\",\"timestamp\":1000,\"tier\":\"free\","
                        + "\"cost\":-5,\"sizeBytes\":9,\"attributes\":{\"endpoint\":\"/a\"},\"deadline\":2000,\"notBefore\":1500,"
                        + "\"payload\":\"AQID\",\"limitOverride\":{\"windowMs\":60000,\"limit\":0},\"policyId\":\"p\","
                        + "\"reserve\":\"60s\",\"settles\":\"r0\",\"partition\":3,\"offset\":14}",
                5,
                SOURCE);
        assertThat(request)
                .usingRecursiveComparison()
                .isEqualTo(Request.builder("r1", "c1")
                        .kind(RequestKind.SETTLE)
                        .tier("free")
                        .cost(-5)
                        .sizeBytes(9L)
                        .attributes(Map.of("endpoint", "/a"))
                        .deadlineMs(2_000L)
                        .notBeforeMs(1_500L)
                        .payload(new byte[] {1, 2, 3})
                        .limitOverride(new LimitOverride(0, 60_000))
                        .policyId("p")
                        .reserveMs(60_000L)
                        .settles("r0")
                        .timestampMs(1_000)
                        .source(3, 14)
                        .build());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {"\"60s\" | 60000", "60000 | 60000", "\"1ms\" | 1", "null |", "0 | 0", "-1 | -1"})
    void the_time_of_a_reservation_is_a_duration_or_milliseconds(String reserve, Long reserveMs) {
        Request request =
                RequestJson.read("{\"requestId\":\"r\",\"client\":\"c\",\"reserve\":" + reserve + "}", 5, SOURCE);
        assertThat(request.reserveMs()).isEqualTo(reserveMs);
    }

    @ParameterizedTest
    @EnumSource(RequestKind.class)
    void a_request_can_be_of_any_kind(RequestKind kind) {
        Request request = RequestJson.read(
                "{\"requestId\":\"r\",\"client\":\"c\",\"kind\":\"" + kind + "\",\"settles\":null}", 5, SOURCE);
        assertThat(request.kind()).isEqualTo(kind);
        assertThat(request.settles()).isNull();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"result\":\"done\" | DONE | null | null",
                "\"result\":\"retry\",\"retryAfterMs\":0,\"error\":\"no carrier\" | RETRY | 0 | no carrier",
                "\"result\":\"failed\",\"retryAfterMs\":null,\"error\":\"żółw\" | FAILED | null | żółw",
                "\"result\":null,\"error\":null | null | null | null"
            },
            nullValues = "null")
    void an_acknowledgement_has_a_receipt_and_a_result(
            String fields, Acknowledgement.Result result, Long retryAfterMs, String error) {
        String text = "{\"requestId\":\"r\",\"client\":\"c\",\"kind\":\"COMPLETE\",\"receipt\":\"AXE\"," + fields + "}";
        assertThat(RequestJson.read(text, 5, SOURCE).acknowledgement())
                .isEqualTo(new Acknowledgement("AXE", result, retryAfterMs, error));
    }

    @Test
    void a_request_of_a_given_kind_cannot_set_another() {
        Optional<RequestKind> extend = Optional.of(RequestKind.EXTEND);
        String text = "{\"client\":\"c\",\"receipt\":\"AXE\"}";
        assertThat(RequestJson.readNew(text, extend, () -> "id", 5))
                .isEqualTo(Request.builder("id", "c")
                        .kind(RequestKind.EXTEND)
                        .acknowledgement(new Acknowledgement("AXE", null, null, null))
                        .timestampMs(5)
                        .source(Request.Source.NONE)
                        .build());
        String other = "{\"client\":\"c\",\"kind\":\"EXTEND\"}";
        assertThatThrownBy(() -> RequestJson.readNew(other, extend, () -> "id", 5))
                .hasMessage("kind cannot be set: it is EXTEND");
        assertThatThrownBy(() -> RequestJson.readNewArray("[" + other + "]", 9, extend, () -> "id", 5))
                .hasMessage("[0]: kind cannot be set: it is EXTEND");
    }

    @ParameterizedTest
    @EnumSource(names = {"RELEASE", "RENEW", "CANCEL"})
    void a_request_that_ends_another_needs_its_id(RequestKind kind) {
        String text = "{\"client\":\"alice\",\"kind\":\"%s\"}".formatted(kind);
        assertThatThrownBy(() -> RequestJson.readNew(text, () -> "id", 5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("requestId");
        assertThat(RequestJson.readNew(text.replace(kind.name(), "SETTLE"), () -> "id", 5)
                        .requestId())
                .isEqualTo("id");
    }

    @Test
    void a_minimal_request_has_the_defaults() {
        Request request = RequestJson.read("{\"requestId\":\"r1\",\"client\":\"c1\"}", 5, SOURCE);
        assertThat(request)
                .isEqualTo(
                        Request.builder("r1", "c1").timestampMs(5).source(0, 7).build());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"client\":\"c\"}                                    | requestId is required",
                "{\"requestId\":\"r\"}                                 | client is required",
                "{\"requestId\":7,\"client\":\"c\"}                    | requestId must be a string",
                "{\"requestId\":null,\"client\":\"c\"}                 | requestId is required",
                "{\"requestId\":\"r\",\"client\":null}              | client is required",
                "{\"cost\":1.5}                                        | cost must be a whole number, is '1.5'",
                "{\"cost\":\"1\"}                                      | cost must be a whole number, is '1'",
                "{\"cost\":null}                                       | cost must be a whole number, has no value",
                "{\"cost\":[1]}                                        | cost must be a whole number, is an array",
                "{\"cost\":9223372036854775808}                        | cost must be a 64-bit integer, is '9223372036854775808'",
                "{\"kind\":\"TAKE\"}                                   | kind must be CONSUME, PEEK, SETTLE, CANCEL, RESET, RELEASE, RENEW, COMPLETE or EXTEND, is 'TAKE'",
                "{\"attributes\":[]}                                   | attributes must be an object",
                "{\"attributes\":{\"a\":1}}                            | attributes.a must be a string",
                "{\"payload\":\"***\"}                                 | payload must be a base64 string",
                "{\"client\":\"\\ud800\"}                                 | client contains an unpaired surrogate",
                "{\"limitOverride\":5}                                 | limitOverride must be an object with limit and windowMs",
                "{\"limitOverride\":{\"limit\":5}}                     | limitOverride.windowMs is required",
                "{\"limitOverride\":{}}                                | limitOverride.limit is required",
                "{\"limitOverride\":{\"limit\":\"5\"}}                 | limitOverride.limit must be a whole number, is '5'",
                "{\"limitOverride\":{\"windowMs\":null}}               | limitOverride.windowMs must be a whole number, has no value",
                "{\"limitOverride\":{\"limit\":1,\"limit\":2}}         | limitOverride.limit appears twice",
                "{\"limitOverride\":{\"unit\":\"MINUTE\"}}             | unknown field 'limitOverride.unit'",
                "{\"costs\":1}                                         | unknown field 'costs'",
                "{\"reserve\":\"60\"}                                  | reserve must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '60'",
                "{\"reserve\":\"0s\"}                                  | reserve must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0s'",
                "{\"reserve\":1.5}                                     | reserve must be a duration such as \"60s\" or a number of ms, is '1.5'",
                "{\"reserve\":{}}                                      | reserve must be a duration such as \"60s\" or a number of ms, is an object",
                "{\"reserveMs\":1}                                     | unknown field 'reserveMs'; did you mean 'reserve'?",
                "{\"settles\":1}                                       | settles must be a string",
                "{\"receipt\":1}                                       | receipt must be a string",
                "{\"result\":\"ok\"}                                   | result must be done, retry or failed, is 'ok'",
                "{\"retryAfterMs\":\"1s\"}                             | retryAfterMs must be a whole number, is '1s'",
                "{\"requestId\":\"r\",\"client\":\"c\",\"error\":\"\"} | receipt is required with result, retryAfterMs and error",
                "[]                                                    | is not a JSON object",
                "{\"requestId\":\"r\",\"client\":\"c\"} x              | is not valid JSON",
                "{\"requestId\":\"r\",\"client\":\"c\"} {}             | has content after the JSON object",
                "{\"requestId\":\"r\"                                  | is not valid JSON",
            })
    void an_invalid_request_line_is_rejected_and_names_the_field(String line, String message) {
        assertThatThrownBy(() -> RequestJson.read(line, 0, SOURCE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(message);
    }

    @Test
    void a_decision_is_one_line_with_the_fields_of_the_schema() throws IOException {
        StringWriter out = new StringWriter();
        try (DecisionJson json = new DecisionJson(out)) {
            json.write(new Decision(
                            new Decision.Identity("r1", "c1", "gold", SOURCE),
                            new Decision.Status(
                                    Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429, false, false, true, List.of("soft")),
                            new Decision.Timing(1_000, 100L, 20L, 1_060L))
                    .withLimit(new PolicyVersion("p", 2), new LimitStatus("gcra 5/1s", 5L, 1_000L, 0L, 900L))
                    .withLimits(List.of(new EnforcedLimit("p", 1, 5, 1_000L, 0L, null, 100L)))
                    .withQueueing(new Decision.Queueing("sms", Map.of("tenant", "t"), 3L, 20L))
                    .withContext(new DecisionContext(new DecisionOrder(41, 3), 7L)));
        }
        assertThat(out)
                .hasToString("{\"requestId\":\"r1\",\"client\":\"c1\",\"outcome\":\"DENIED\","
                        + "\"reason\":\"LIMIT_EXCEEDED\",\"policyId\":\"p\",\"policyVersion\":2,"
                        + "\"limitedBy\":\"gcra 5/1s\",\"limit\":5,\"windowMs\":1000,\"remaining\":0,\"resetAfterMs\":900,"
                        + "\"retryAfterMs\":100,\"delayMs\":20,\"reservedUntil\":1060,\"observed\":false,\"shadowBanned\":false,\"repeated\":true,"
                        + "\"queue\":\"sms\",\"position\":3,\"expectedWaitMs\":20,\"httpStatus\":429,"
                        + "\"decidedAt\":1000,\"sourcePartition\":0,\"sourceOffset\":7,"
                        + "\"order\":{\"afterOffset\":41,\"step\":3},\"policiesChecksum\":7,\"queueKey\":{\"tenant\":\"t\"},"
                        + "\"tier\":\"gold\",\"observedBy\":[\"soft\"],"
                        + "\"limits\":[{\"policyId\":\"p\",\"number\":1,\"quota\":5,\"windowMs\":1000,"
                        + "\"remaining\":0,\"resetAfterMs\":null,\"retryAfterMs\":100}]}\n");
    }

    @Test
    void a_message_about_json_names_the_place_and_not_jacksons_classes() {
        for (String line : List.of("{\"requestId\":\"r\"", "{\"attributes\":{\"a\":", "{oops", "{\"client\":\"c\",}")) {
            assertThatThrownBy(() -> RequestJson.readRecord(line, 0, SOURCE))
                    .hasMessageContaining("line 1, column ")
                    .message()
                    .doesNotContain("REDACTED", "StreamReadFeature", "Source:");
            assertThatThrownBy(() -> DecisionJson.decode(line.getBytes(StandardCharsets.UTF_8)))
                    .hasMessageContaining("line 1, column ")
                    .message()
                    .doesNotContain("REDACTED", "StreamReadFeature", "Source:");
        }
    }

    @Test
    void a_release_is_one_line_with_the_fields_of_the_schema() throws IOException {
        assertThat(line(Release.builder("r1", "żółw", "sms")
                        .tier("gold")
                        .key(Map.of("tenant", "t", "model", "m"))
                        .sequence(12)
                        .enqueuedAtMs(900)
                        .releaseAtNanos(1_000_020_000)
                        .cost(3)
                        .attributes(Map.of("region", "eu", "endpoint", "/a"))
                        .payload(new byte[] {1, 2, 3})
                        .pace(new Release.Pace(200_000_000, 1_000))
                        .build()))
                .isEqualTo("{\"requestId\":\"r1\",\"client\":\"żółw\",\"tier\":\"gold\",\"queue\":\"sms\","
                        + "\"sequence\":12,\"enqueuedAt\":900,\"releaseAt\":1000.02,\"waitMs\":100,\"cost\":3,"
                        + "\"attributes\":{\"endpoint\":\"/a\",\"region\":\"eu\"},\"payload\":\"AQID\",\"queueKey\":{\"model\":\"m\",\"tenant\":\"t\"},"
                        + "\"paceNanos\":200000000,\"totalPaceNanos\":1000}\n");
    }

    @Test
    void a_release_has_the_attempt_that_its_worker_acknowledges() throws Exception {
        Release release = Release.builder("r1", "c", "sms")
                .attempt(new Release.Attempt(2, "AXE", 30_000))
                .build();
        assertThat(line(release))
                .isEqualTo("{\"requestId\":\"r1\",\"client\":\"c\",\"tier\":null,\"queue\":\"sms\",\"sequence\":1,"
                        + "\"enqueuedAt\":0,\"releaseAt\":0,\"waitMs\":0,\"cost\":1,\"attributes\":{},\"payload\":null,"
                        + "\"queueKey\":{},\"attempt\":2,\"receipt\":\"AXE\",\"ackTimeoutMs\":30000}\n");
        assertThat(ReleaseJson.decode(ReleaseJson.encode(release))).isEqualTo(release);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1, 0.000001",
        "1000000000, 1000",
        "1000020000, 1000.02",
        "1785000000123456789, 1785000000123.456789",
        "9223372036854775807, 9223372036854.775807"
    })
    void the_time_of_a_release_is_in_milliseconds_with_decimals(long releaseAtNanos, String shown) throws IOException {
        assertThat(line(Release.builder("r", "c", "q")
                        .releaseAtNanos(releaseAtNanos)
                        .build()))
                .contains(
                        "\"tier\":null,",
                        "\"releaseAt\":" + shown + ",",
                        "\"attributes\":{},\"payload\":null,\"queueKey\":{}}");
    }

    private static String line(Release release) throws IOException {
        StringWriter out = new StringWriter();
        try (ReleaseJson json = new ReleaseJson(out)) {
            json.write(release);
        }
        return out.toString();
    }

    @Test
    void lines_are_counted_with_the_blank_ones() throws IOException {
        NdjsonLines lines = lines("a\n\n  \r\nb\r\nc");
        assertThat(lines.next()).isEqualTo("a");
        assertThat(lines.next()).startsWith("b");
        assertThat(lines.place()).isEqualTo("file:4");
        assertThat(lines.next()).isEqualTo("c");
        assertThat(lines.next()).isNull();
    }

    @Test
    void lines_longer_than_the_buffer_and_ends_on_its_edge_are_read() throws IOException {
        for (int length : new int[] {(1 << 16) - 1, 1 << 16, (1 << 16) + 1, 300_000}) {
            String long1 = "x".repeat(length);
            NdjsonLines lines = lines("a\n" + long1 + "\n" + long1 + "\nż\n");
            assertThat(lines.next()).isEqualTo("a");
            assertThat(lines.next()).isEqualTo(long1);
            assertThat(lines.next()).isEqualTo(long1);
            assertThat(lines.next()).isEqualTo("ż");
            assertThat(lines.next()).isNull();
        }
    }

    @Test
    void a_line_without_an_end_is_rejected_with_its_position() {
        NdjsonLines lines = lines("x".repeat(2 * NdjsonLines.MAX_LINE_LENGTH));
        assertThatThrownBy(lines::next).isInstanceOf(IOException.class).hasMessageStartingWith("file:1: the line is");
    }

    @Test
    void invalid_utf_8_is_rejected_with_its_position_and_can_be_skipped() throws IOException {
        byte[] text = {(byte) 0xC3, 0x28, '\n', 'b', '\n', (byte) 0xC3, 0x28};
        NdjsonLines lines = new NdjsonLines("file", new ByteArrayInputStream(text));
        assertThatThrownBy(lines::next).isInstanceOf(IOException.class).hasMessage("file:1: is not valid UTF-8");
        assertThat(lines.next()).isEqualTo("b");
        assertThatThrownBy(lines::next).hasMessage("file:3: is not valid UTF-8");
        assertThat(lines.next()).isNull();
    }

    private static NdjsonLines lines(String text) {
        return new NdjsonLines("file", new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }
}
