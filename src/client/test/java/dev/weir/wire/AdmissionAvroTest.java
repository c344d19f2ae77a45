package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Admission;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AdmissionAvroTest {

    private static final Request.Source SOURCE = new Request.Source(3, 1L << 40);
    private static final Request CANCEL = Request.builder("r1", "c")
            .kind(RequestKind.CANCEL)
            .queue("sms")
            .timestampMs(1_000)
            .source(SOURCE)
            .build();

    private final AdmissionAvro avro = new AdmissionAvro();

    @Test
    void an_admission_survives_a_round_trip() throws UnreadableException {
        Request request = Request.builder("żądanie", "żółw")
                .tier("złoto")
                .cost(42)
                .sizeBytes(1_024L)
                .attributes(Map.of("endpoint", "/łąka"))
                .deadlineMs(2_000L)
                .payload(new byte[] {0, -1, 127})
                .timestampMs(1_785_000_000_123L)
                .source(SOURCE)
                .build();
        assertComesBack(new Admission(
                request,
                new IdempotentAnswer.SentToQueue(
                        "kolejka",
                        new PolicyVersion("reguła", 7),
                        LimitStatus.of("gcra 5/1s", 5L),
                        List.of("próba", "trial")),
                Map.of("cel", "ą"),
                new Admission.Identity(true, 1_785_000_600_123L, 42, 1_785_000_060_123L),
                List.of(
                        new Admission.Header("ślad", new byte[] {1, 2}),
                        new Admission.Header("twice", null),
                        new Admission.Header("twice", new byte[0])),
                new DecisionContext(new DecisionOrder(41, 3), 0xFFFF_FFFFL)));
    }

    @Test
    void absent_fields_stay_absent() throws UnreadableException {
        assertComesBack(Admission.cancel(CANCEL));
    }

    @Test
    void a_damaged_inner_request_is_rejected() {
        byte[] bytes = avro.encode(Admission.cancel(CANCEL));
        int marker = 10 + 1; // after marker, fingerprint and the length of the request
        assertThat(bytes[marker]).isEqualTo((byte) 0xC3);
        byte[] damaged = Arrays.copyOf(bytes, bytes.length);
        damaged[marker] = 0;
        assertThatThrownBy(() -> avro.decode(damaged))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.UNKNOWN_FORMAT));
    }

    @Test
    void an_admission_with_a_negative_cost_is_rejected() {
        Request request = Request.builder("r1", "c")
                .cost(-1)
                .timestampMs(1_000)
                .source(SOURCE)
                .build();
        byte[] bytes = avro.encode(Admission.of(request, "sms", new PolicyVersion("p", 1), null));
        assertThatThrownBy(() -> avro.decode(bytes))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.NEGATIVE_COST));
    }

    @Test
    void the_maximum_number_of_headers_is_preserved() throws UnreadableException {
        List<Admission.Header> headers = Collections.nCopies((2 << 20) / 10, new Admission.Header("", null));
        Admission admission = Admission.cancel(CANCEL).withHeadersAndContext(headers, DecisionContext.UNKNOWN);
        assertThat(avro.decode(avro.encode(admission)).headers()).hasSameSizeAs(headers);
    }

    private void assertComesBack(Admission admission) throws UnreadableException {
        assertThat(avro.decode(avro.encode(admission)))
                .usingRecursiveComparison()
                .isEqualTo(admission);
    }
}
