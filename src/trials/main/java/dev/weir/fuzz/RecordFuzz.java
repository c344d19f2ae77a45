package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.ByAvro;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.util.List;

/**
 * A fuzz case with a value of one topic, which is rejected, or decoded to a value that round-trips. Avro's own
 * readers and writers must agree.
 */
final class RecordFuzz implements FuzzRunner.Case {

    private interface Codec {
        Object read(byte[] bytes) throws UnreadableException;
    }

    private interface Writer {
        byte[] write(Object value);
    }

    /** The codec of the values of one topic, and a writer that uses Avro itself. */
    private record Topic(String name, List<byte[]> valid, Codec reading, Writer writing, Writer byAvro) {

        /** Returns the bound of the allocations. Policy records contain a text. */
        long allowance(byte[] bytes) {
            return name.equals(POLICY_RECORDS) ? AllocationLimit.definition(bytes) : AllocationLimit.record(bytes);
        }
    }

    private static final String REQUESTS_TOPIC = "requests";
    private static final String POLICY_RECORDS = "policies";
    private static final long TIMESTAMP_MS = 5;
    private static final Request.Source SOURCE = new Request.Source(0, 7);
    private static final String WITHOUT_MESSAGE = "the record does not match its schema";
    private static final RequestCodec REQUESTS = new RequestCodec();
    private static final DecisionCodec DECISIONS = new DecisionCodec();
    private static final ReleaseCodec RELEASES = new ReleaseCodec();
    private static final AdmissionAvro ADMISSIONS = new AdmissionAvro();
    private static final PolicyAvro POLICIES = new PolicyAvro();

    private final List<Topic> topics = List.of(
            new Topic(
                    REQUESTS_TOPIC,
                    RecordSamples.requests(),
                    bytes -> REQUESTS.decode(bytes, TIMESTAMP_MS, SOURCE),
                    value -> REQUESTS.encode((Request) value),
                    value -> ByAvro.encode((Request) value)),
            new Topic(
                    "decisions",
                    RecordSamples.decisions(),
                    DECISIONS::decode,
                    value -> DECISIONS.encode((dev.weir.event.Decision) value),
                    value -> ByAvro.encode((dev.weir.event.Decision) value)),
            new Topic(
                    "releases",
                    RecordSamples.releases(),
                    RELEASES::decode,
                    value -> RELEASES.encode((dev.weir.event.Release) value),
                    value -> ByAvro.encode((dev.weir.event.Release) value)),
            new Topic(
                    "admissions",
                    RecordSamples.admissions(),
                    ADMISSIONS::decode,
                    value -> ADMISSIONS.encode((dev.weir.event.Admission) value),
                    value -> ByAvro.encode((dev.weir.event.Admission) value)),
            new Topic(
                    POLICY_RECORDS,
                    RecordSamples.policies(),
                    bytes -> bytes == null
                            ? POLICIES.decode("policy/p", null)
                            : DecodedPolicyRecord.read("policy/p", bytes, 0).applied(),
                    value -> POLICIES.encode((PolicyAvro.Applied) value),
                    value -> POLICIES.encode((PolicyAvro.Applied) value)));

    @Override
    public void run(FuzzCase fuzzCase) throws Exception {
        Topic topic = topics.get(fuzzCase.random().nextInt(topics.size()));
        byte[] bytes = fuzzCase.random().nextInt(500) == 0 ? null : BytesMutation.of(topic.valid, fuzzCase.random());
        Object value;
        try {
            value = fuzzCase.within(topic.allowance(bytes), () -> topic.reading.read(bytes));
        } catch (UnreadableException e) {
            assertThat(e.rejection()).isNotNull();
            assertThat(e.getMessage()).isNotBlank();
            if (topic.name.equals(REQUESTS_TOPIC) && isOnlyAvro(bytes, e.rejection())) {
                refusedByAvro(bytes, e);
            }
            fuzzCase.came(topic.name + " refused");
            return;
        }
        if (value instanceof Request request && isOnlyAvro(bytes, null)) {
            assertThat(ByAvro.same(request, ByAvro.decodeRequest(bytes, TIMESTAMP_MS, SOURCE)))
                    .isTrue();
        }
        byte[] written = topic.writing.write(value);
        assertThat(written).isEqualTo(topic.byAvro.write(value));
        Object again = topic.reading.read(written);
        assertThat(again).usingRecursiveComparison().isEqualTo(value);
        fuzzCase.came(topic.name + " accepted");
    }

    /** Returns whether Avro's own decoder must have the same result. */
    private static boolean isOnlyAvro(byte[] bytes, Rejection rejection) {
        boolean isJson = bytes != null && bytes.length > 0 && bytes[0] == '{';
        return !isJson && rejection != Rejection.UNKNOWN_FORMAT;
    }

    /**
     * Checks that Avro rejects the record with the same message. Messages of index errors are not compared: the JVM
     * omits them after many such errors, and Avro words them differently for unions and enumerations.
     */
    private static void refusedByAvro(byte[] bytes, UnreadableException refused) {
        assertThatThrownBy(() -> ByAvro.decodeRequest(bytes, TIMESTAMP_MS, SOURCE))
                .isInstanceOfSatisfying(UnreadableException.class, avro -> {
                    assertThat(avro.rejection()).isEqualTo(refused.rejection());
                    String message = avro.getMessage();
                    if (!message.equals(WITHOUT_MESSAGE) && !message.contains("out of range")) {
                        assertThat(refused).hasMessage(message);
                    }
                });
    }
}
