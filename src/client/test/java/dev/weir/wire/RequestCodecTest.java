package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.LimitOverride;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.avro.SchemaNormalization;
import org.junit.jupiter.api.Test;

class RequestCodecTest {

    private static final Request.Source SOURCE = new Request.Source(3, 14);
    private static final Request FULL = Request.builder("r1", "żółw")
            .kind(RequestKind.SETTLE)
            .tier("gold")
            .cost(-42)
            .sizeBytes(1_024L)
            .attributes(Map.of("endpoint", "/a", "method", "GET"))
            .deadlineMs(2_000L)
            .notBeforeMs(1_500L)
            .payload(new byte[] {1, 2, 3})
            .limitOverride(new LimitOverride(Long.MAX_VALUE, 60_000))
            .policyId("per-minute")
            .reserveMs(2_592_000_000L)
            .settles("żółw")
            .timestampMs(1_000)
            .source(SOURCE)
            .build();

    private final RequestCodec avro = new RequestCodec();

    @Test
    void a_request_survives_a_round_trip() throws UnreadableException {
        for (Request request : List.of(
                FULL,
                FULL.withLimitOverride(null),
                FULL.withPolicyId(null),
                FULL.withKind(RequestKind.RELEASE),
                FULL.withKind(RequestKind.RENEW),
                FULL.toBuilder().reserveMs(null).settles(null).build())) {
            Request read = avro.decode(avro.encode(request), 1_000, SOURCE);
            assertThat(read)
                    .usingRecursiveComparison()
                    .ignoringCollectionOrder()
                    .isEqualTo(request);
        }
    }

    @Test
    void the_bytes_begin_with_marker_and_fingerprint() {
        byte[] bytes = avro.encode(FULL);
        long fingerprint = SchemaNormalization.parsingFingerprint64(new dev.weir.avro.RequestEvent().getSchema());
        assertThat(bytes).startsWith(0xC3, 0x01);
        assertThat(Long.reverseBytes(ByteBuffer.wrap(bytes, 2, 8).getLong())).isEqualTo(fingerprint);
    }

    @Test
    void non_avro_bytes_and_unknown_schemas_have_different_rejections() {
        byte[] unknown = avro.encode(FULL);
        unknown[5]++;
        assertRejected(unknown, Rejection.UNKNOWN_SCHEMA);
        assertRejected("{\"requestId\":\"r1\"}".getBytes(java.nio.charset.StandardCharsets.UTF_8), Rejection.NO_CLIENT);
        assertRejected("{\"client\":\"c\"}".getBytes(java.nio.charset.StandardCharsets.UTF_8), Rejection.NO_REQUEST_ID);
        assertRejected(
                "{\"requestId\":null,\"client\":\"c\"}".getBytes(java.nio.charset.StandardCharsets.UTF_8),
                Rejection.NO_REQUEST_ID);
        assertRejected("{\"requestId\":7}".getBytes(java.nio.charset.StandardCharsets.UTF_8), Rejection.NOT_JSON);
        assertRejected(new byte[0], Rejection.UNKNOWN_FORMAT);
    }

    @Test
    void a_false_length_allocates_nothing() {
        byte[] bytes = Arrays.copyOf(avro.encode(FULL), 40);
        byte[] twoGigabytes = {(byte) 0xFE, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 0x0F};
        System.arraycopy(twoGigabytes, 0, bytes, 10, twoGigabytes.length); // the length of requestId
        assertRejected(bytes, Rejection.NOT_AVRO);
    }

    /** For example, a buffer that is longer than the record, or two records in one value. */
    @Test
    void trailing_bytes_make_a_record_invalid() {
        byte[] good = avro.encode(FULL);
        byte[] two = Arrays.copyOf(good, 2 * good.length);
        System.arraycopy(good, 0, two, good.length, good.length);
        assertThatThrownBy(() -> avro.decode(Arrays.copyOf(good, good.length + 1), 0, SOURCE))
                .hasMessage("1 unexpected bytes after the record")
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.NOT_AVRO));
        assertRejected(two, Rejection.NOT_AVRO);
    }

    @Test
    void damaged_bytes_are_rejected_or_read_but_never_fail_otherwise() {
        Random random = new Random(11);
        byte[] good = avro.encode(FULL);
        int rejected = 0;
        for (int i = 0; i < 100_000; i++) {
            byte[] bytes = Arrays.copyOf(good, random.nextInt(20) == 0 ? random.nextInt(good.length) : good.length);
            for (int flips = random.nextInt(4); flips >= 0 && bytes.length > 10; flips--) {
                bytes[10 + random.nextInt(bytes.length - 10)] = (byte) random.nextInt(256);
            }
            try {
                avro.decode(bytes, 0, SOURCE);
            } catch (UnreadableException e) {
                rejected++;
            }
        }
        assertThat(rejected).isBetween(10_000, 99_999);
    }

    private void assertRejected(byte[] bytes, Rejection rejection) {
        assertThatThrownBy(() -> avro.decode(bytes, 0, SOURCE))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(rejection));
    }
}
