package dev.weir.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.json.DecisionJson;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The audit finds each forged record of a real run, with its position. */
@Tag("full")
class ForgedRecordsAuditTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    private static AuditHarness audits;
    private static TracedRun run;

    @BeforeAll
    static void run() throws Exception {
        run = TracedRun.shared();
        audits = AuditHarness.shared();
    }

    @Test
    void each_forged_record_is_found_with_its_position() throws Exception {
        List<AuditHarness.Copied> decisions = audits.read("weir.decisions", 0);
        List<Integer> plain = new ArrayList<>(); // early, before policies changed
        for (int i = 0; i < decisions.size() && plain.size() < 12; i++) {
            if (isPlain(decisions.get(i).decision())) {
                plain.add(i);
            }
        }
        Map<Integer, List<byte[]>> instead = new HashMap<>();
        List<String> expected = new ArrayList<>();
        Forger forger = (index, kind, forged) -> {
            AuditHarness.Copied copied = decisions.get(plain.get(index));
            instead.put(plain.get(index), List.of(forged));
            expected.add(kind + " " + copied.decision().source().offset());
        };
        forger.forge(3, "DIFFERS", encoded(decisions, plain.get(3), json -> json.put("outcome", "DENIED")));
        forger.forge(4, "DIFFERS", encoded(decisions, plain.get(4), json -> json.put("remaining", 0)));
        forger.forge(5, "DIFFERS", encoded(decisions, plain.get(5), json -> json.put("policyVersion", 77)));
        forger.forge(6, "UNDECIDED");
        byte[] same = decisions.get(plain.get(7)).value();
        forger.forge(7, "SECOND", same, same);
        byte[] beyond = encoded(decisions, plain.get(8), json -> json.put("sourceOffset", 1_000_000));
        byte[] elsewhere = encoded(decisions, plain.get(8), json -> json.put("sourcePartition", 7));
        instead.put(plain.get(8), List.of(decisions.get(plain.get(8)).value(), beyond, elsewhere, new byte[] {1}));
        expected.add("NO_REQUEST 1000000");
        expected.add(
                "NO_REQUEST " + decisions.get(plain.get(8)).decision().source().offset());
        expected.add("UNREADABLE null");
        expected.add("DIFFERS null");
        AuditHarness.Copied letter = audits.read("weir.dead-letters", 0).get(0);
        expected.add("DEAD_LETTER " + AuditHarness.header(letter, DeadLetterHeaders.OFFSET));
        expected.add("WRONG_QUEUE_EXITS null");

        audits.copy("forged.", (topic, partition, index) -> switch (topic + partition) {
            case "decisions0" -> instead.get(index);
            case "dead-letters0" -> index == 0 ? List.of() : null;
            case "releases0" ->
                index == 0 ? twice(audits.read("weir.releases", 0).get(0).value()) : null;
            default -> null;
        });
        long usedMs = decisions.get(plain.get(9)).from().timestamp();
        audits.send("forged.lease-usage", 0, usedMs, AuditHarness.usage("p", 5, usedMs));
        CapturedRun result = audits.audit("-o", "json", "-c", audits.configFile("forged."));
        assertThat(result.err()).isEmpty();
        assertThat(result.exit()).isEqualTo(1);
        JsonNode counts = AuditHarness.document(result);
        JsonNode found = counts.get("firstMismatches");
        assertThat(found)
                .extracting(line -> line.get("mismatch").asText() + " "
                        + line.path("sourceOffset").asText("null"))
                .containsExactlyInAnyOrderElementsOf(expected);
        assertThat(counts.get("mismatches").asInt()).isEqualTo(expected.size());
        JsonNode outcome = StreamSupport.stream(found.spliterator(), false)
                .filter(line -> line.get("fields").has("outcome"))
                .findFirst()
                .orElseThrow();
        assertThat(outcome.get("fields"))
                .hasToString("{\"outcome\":{\"recorded\":\"DENIED\",\"expected\":\"ALLOWED\"}}");
        Decision denied = decisions.get(plain.get(3)).decision();
        assertThat(outcome.get("client").asText()).isEqualTo(denied.client());
        assertThat(outcome.get("requestId").asText()).isEqualTo(denied.requestId());
        assertThat(outcome.get("topic").asText()).isEqualTo("decisions");
        AuditHarness.Copied reported =
                audits.read("forged.decisions", 0).get(outcome.get("offset").asInt());
        assertThat(reported.decision().source()).isEqualTo(denied.source());

        assertThat(audits.audit(
                                "-c",
                                audits.configFile("forged."),
                                "--from",
                                run.middle().toString())
                        .exit())
                .isZero();
        JsonNode early = AuditHarness.document(audits.audit(
                "-o",
                "json",
                "-c",
                audits.configFile("forged."),
                "--to",
                run.middle().toString()));
        assertThat(early.get("mismatches").asInt()).isEqualTo(expected.size() - 1); // not WRONG_QUEUE_EXITS
        assertThat(early.get("notJudged").get("RELEASE_UNMATCHED").asInt()).isEqualTo(1);

        CapturedRun few = audits.audit("-c", audits.configFile("forged."), "--max-mismatches", "2");
        assertThat(few.exit()).isEqualTo(1);
        assertThat(few.out()).contains("… and " + (expected.size() - 2) + " more");
    }

    @Test
    void a_dead_letter_without_a_request_is_reported_if_its_time_is_in_the_range() throws Exception {
        audits.copy("stray.", (topic, partition, index) -> null);
        ConsumerRecord<byte[], byte[]> early =
                audits.read("weir.dead-letters", 0).get(0).from();
        for (List<String> place :
                List.of(List.of("7", "0"), List.of("4294967296", "0"), List.of("0", "1000000"), List.of("0", "none"))) {
            Headers headers = AuditHarness.letterHeaders(early, "stray.");
            headers.remove(DeadLetterHeaders.PARTITION).remove(DeadLetterHeaders.OFFSET);
            headers.add(DeadLetterHeaders.PARTITION, place.get(0).getBytes(UTF_8));
            headers.add(DeadLetterHeaders.OFFSET, place.get(1).getBytes(UTF_8));
            audits.send("stray.dead-letters", 0, early, headers);
        }
        JsonNode found = AuditHarness.document(audits.audit("-o", "json", "-c", audits.configFile("stray.")));
        assertThat(found.get("mismatchesByKind")).hasToString("{\"NO_REQUEST\":4}");
        assertThat(found.get("firstMismatches"))
                .extracting(line -> line.get("sourcePartition") + " " + line.get("sourceOffset"))
                .containsExactlyInAnyOrder("7 0", "-1 0", "0 1000000", "0 -1");
        assertThat(audits.audit(
                                "-c",
                                audits.configFile("stray."),
                                "--to",
                                run.middle().toString())
                        .exit())
                .isEqualTo(1);
        assertThat(audits.audit(
                                "-c",
                                audits.configFile("stray."),
                                "--from",
                                run.middle().toString())
                        .exit())
                .isZero();
    }

    @Test
    void a_missing_field_or_reason_is_a_mismatch() throws Exception {
        List<AuditHarness.Copied> decisions = audits.read("weir.decisions", 0);
        int plain = IntStream.range(0, decisions.size())
                .filter(index -> isPlain(decisions.get(index).decision()))
                .skip(3) // earlier ones show which policies were in force
                .findFirst()
                .orElseThrow();
        audits.copy("lacking.", (topic, partition, index) -> switch (topic + partition) {
            case "decisions0" ->
                index == plain ? List.of(encoded(decisions, plain, json -> json.putNull("policyVersion"))) : null;
            case "dead-letters0" -> index == 0 ? List.of() : null;
            default -> null;
        });
        AuditHarness.Copied letter = audits.read("weir.dead-letters", 0).get(0);
        Headers noReason = AuditHarness.letterHeaders(letter.from(), "lacking.");
        noReason.remove(DeadLetterHeaders.REASON);
        audits.send("lacking.dead-letters", 0, letter.from(), noReason);
        CapturedRun result = audits.audit("-o", "json", "-c", audits.configFile("lacking."));
        assertThat(result.err()).isEmpty();
        assertThat(result.exit()).isEqualTo(1);
        assertThat(result.out()).contains("its reason is null");
        assertThat(AuditHarness.document(result).get("mismatchesByKind"))
                .hasToString("{\"DIFFERS\":1,\"DEAD_LETTER\":1}");
    }

    private interface Forger {
        void forge(int index, String kind, byte[]... forged);
    }

    private interface Edit {
        void edit(ObjectNode json);
    }

    private static boolean isPlain(Decision decision) {
        return decision.queueing() == null
                && decision.policyId() != null
                && decision.reason() == Reason.WITHIN_LIMITS
                && decision.remaining() != null
                && decision.remaining() > 0
                && !decision.repeated();
    }

    private static List<byte[]> twice(byte[] value) {
        return List.of(value, value);
    }

    /** Returns a decision with changed fields. */
    private static byte[] encoded(List<AuditHarness.Copied> decisions, int index, Edit edit) throws Exception {
        Decision decision = decisions.get(index).decision();
        StringWriter line = new StringWriter();
        try (DecisionJson json = new DecisionJson(line)) {
            json.write(decision);
        }
        ObjectNode json = (ObjectNode) JSON.readTree(line.toString());
        edit.edit(json);
        Decision.Identity identity = new Decision.Identity(
                decision.requestId(),
                decision.client(),
                decision.tier(),
                new Request.Source(
                        json.get("sourcePartition").asInt(),
                        json.get("sourceOffset").asLong()));
        Decision.Status status = new Decision.Status(
                Outcome.valueOf(json.get("outcome").asText()),
                decision.reason(),
                decision.httpStatus(),
                decision.observed(),
                decision.shadowBanned(),
                decision.repeated());
        PolicyVersion policy =
                new PolicyVersion(decision.policyId(), json.get("policyVersion").asLong());
        LimitStatus limit = new LimitStatus(
                decision.limitedBy(),
                decision.limit(),
                decision.windowMs(),
                json.get("remaining").asLong(),
                decision.resetAfterMs());
        return AuditHarness.AVRO.encode(new Decision(identity, status, decision.timing())
                .withLimit(policy, limit)
                .withLimits(decision.limits())
                .withContext(decision.context()));
    }
}
