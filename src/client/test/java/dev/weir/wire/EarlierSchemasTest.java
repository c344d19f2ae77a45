package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that records of each earlier version of a schema can still be read, and that later fields get their defaults.
 */
class EarlierSchemasTest {

    private static final Path EARLIER = Path.of("schemas", "earlier");
    private static final Request.Source SOURCE = new Request.Source(3, 14);

    @Test
    void request_event_1() throws Exception {
        Schema schema = schema("RequestEvent.1");
        GenericRecord event = new GenericRecordBuilder(schema)
                .set("requestId", "r1")
                .set("client", "żółw")
                .set("kind", new GenericData.EnumSymbol(schema.getField("kind").schema(), "SETTLE"))
                .set("tier", "gold")
                .set("cost", -42L)
                .set("sizeBytes", 9L)
                .set("attributes", Map.of("endpoint", "/a"))
                .set("deadline", 2_000L)
                .set("payload", ByteBuffer.wrap(new byte[] {1, 2}))
                .build();
        assertThat(new RequestCodec().decode(encode(event), 1_000, SOURCE))
                .usingRecursiveComparison()
                .isEqualTo(new Request(
                        "r1",
                        "żółw",
                        RequestKind.SETTLE,
                        "gold",
                        -42,
                        9L,
                        Map.of("endpoint", "/a"),
                        2_000L,
                        new byte[] {1, 2},
                        null,
                        1_000,
                        SOURCE));
    }

    @Test
    void trailing_bytes_make_a_record_of_an_earlier_version_invalid() throws Exception {
        byte[] record = encode(decision1("sms"));
        byte[] longer = Arrays.copyOf(record, record.length + 3);
        assertThatThrownBy(() -> new DecisionCodec().decode(longer)).hasMessage("3 unexpected bytes after the record");
    }

    @Test
    void decision_1() throws Exception {
        assertThat(new DecisionCodec().decode(encode(decision1("sms"))))
                .isEqualTo(decision(new Decision.Queueing("sms", null, null)));
        assertThat(new DecisionCodec().decode(encode(decision1(null)))).isEqualTo(decision(null));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Decision.2", "Decision.3", "Decision.4"})
    void decision_later(String version) throws Exception {
        GenericRecord event = decision(version, "sms");
        event.put("position", 3L);
        event.put("expectedWaitMs", 20L);
        assertThat(new DecisionCodec().decode(encode(event)))
                .isEqualTo(decision(new Decision.Queueing("sms", 3L, 20L)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Admission.1", "Admission.2"})
    void admission(String version) throws Exception {
        Request request = new Request(
                "r1", "żółw", RequestKind.CONSUME, null, 1, null, Map.of(), null, null, null, 1_000, SOURCE);
        GenericRecord event = new GenericRecordBuilder(schema(version))
                .set("request", ByteBuffer.wrap(new RequestCodec().encode(request)))
                .set("timestamp", 1_000L)
                .set("sourcePartition", SOURCE.partition())
                .set("sourceOffset", SOURCE.offset())
                .set("queue", "sms")
                .set("policyId", "p")
                .set("policyVersion", 2L)
                .set("limitedBy", "gcra 5/1s")
                .set("limit", 5L)
                .build();
        assertThat(new AdmissionAvro().decode(encode(event)))
                .isEqualTo(Admission.of(request, "sms", new PolicyVersion("p", 2), LimitStatus.of("gcra 5/1s", 5L)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PolicyRecord.1", "PolicyRecord.2", "PolicyRecord.3"})
    void policy_record(String version) throws Exception {
        GenericRecord event = new GenericRecordBuilder(schema(version))
                .set("id", "p")
                .set("version", 2L)
                .set("definition", "{}")
                .set("appliedAt", 1_000L)
                .build();
        assertThat(new PolicyAvro().decode("policy/p", encode(event)))
                .isEqualTo(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", 2, "{}", 1_000));
    }

    @Test
    void an_unknown_reason_of_a_later_version_is_named() throws IOException {
        GenericRecord later = decision1(null);
        later.put("reason", "FULL_MOON");
        byte[] bytes = encode(later);
        assertThatThrownBy(() -> new DecisionCodec().decode(bytes))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("unknown reason, of a later version: FULL_MOON");
    }

    private static GenericRecord decision1(String queue) throws IOException {
        return decision("Decision.1", queue);
    }

    private static GenericRecord decision(String version, String queue) throws IOException {
        Schema schema = schema(version);
        return new GenericRecordBuilder(schema)
                .set("requestId", "r1")
                .set("client", "żółw")
                .set(
                        "outcome",
                        new GenericData.EnumSymbol(schema.getField("outcome").schema(), "DENIED"))
                .set("reason", "LIMIT_EXCEEDED")
                .set("policyId", "p")
                .set("policyVersion", 2L)
                .set("limitedBy", "gcra 5/1s")
                .set("limit", 5L)
                .set("remaining", 0L)
                .set("resetAfterMs", 900L)
                .set("retryAfterMs", 100L)
                .set("observed", true)
                .set("shadowBanned", true)
                .set("queue", queue)
                .set("httpStatus", 429)
                .set("decidedAt", 1_000L)
                .set("sourcePartition", SOURCE.partition())
                .set("sourceOffset", SOURCE.offset())
                .build();
    }

    private static Decision decision(Decision.Queueing queueing) {
        return new Decision(
                        new Decision.Identity("r1", "żółw", SOURCE),
                        new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429, true, true, false),
                        new Decision.Timing(1_000, 100L, null))
                .withLimit(new PolicyVersion("p", 2), new LimitStatus("gcra 5/1s", 5L, null, 0L, 900L))
                .withQueueing(queueing);
    }

    private static Schema schema(String name) throws IOException {
        return new Schema.Parser().parse(EARLIER.resolve(name + ".avsc").toFile());
    }

    private static byte[] encode(GenericRecord event) throws IOException {
        return AvroBytes.toArray(
                new BinaryMessageEncoder<GenericRecord>(GenericData.get(), event.getSchema()).encode(event));
    }
}
