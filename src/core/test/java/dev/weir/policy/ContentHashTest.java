package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContentHashTest {

    private static Request request(
            String tier,
            long cost,
            Long size,
            Map<String, String> attributes,
            Long deadlineMs,
            String payload,
            long atMs) {
        return Request.builder("r", "c")
                .tier(tier)
                .cost(cost)
                .sizeBytes(size)
                .attributes(attributes)
                .deadlineMs(deadlineMs)
                .payload(payload == null ? null : payload.getBytes(java.nio.charset.StandardCharsets.UTF_8))
                .timestampMs(atMs)
                .source(0, atMs)
                .build();
    }

    @Test
    void contents_that_differ_in_any_part_have_different_hashes() {
        List<Request> requests = new ArrayList<>();
        for (String tier : new String[] {null, "", "a", "ab", "\ud800", "\udbff", "?"}) {
            requests.add(request(tier, 1, null, Map.of(), null, null, 0));
        }
        for (long cost : new long[] {0, -1, 2, 256, Long.MAX_VALUE}) {
            requests.add(request(null, cost, null, Map.of(), null, null, 0));
        }
        for (Long size : new Long[] {1L, 2L, Long.MAX_VALUE}) {
            requests.add(request(null, 1, size, Map.of(), null, null, 0));
        }
        for (Map<String, String> attributes : List.of(
                Map.of("", ""),
                Map.of("a", ""),
                Map.of("", "a"),
                Map.of("a", "bc"),
                Map.of("ab", "c"),
                Map.of("a", "b", "c", "d"),
                Map.of("a", "bcd"),
                Map.of("a", "d", "c", "b"))) {
            requests.add(request(null, 1, null, attributes, null, null, 0));
        }
        for (String payload : List.of("", "a", "b", "ab")) {
            requests.add(request(null, 1, null, Map.of(), null, payload, 0));
        }
        byte[] asPayload =
                ByteBuffer.allocate(2 * Long.BYTES).putLong(1).putLong(2).array();
        for (byte[] payload : new byte[][] {null, {}, asPayload}) {
            Request request =
                    Request.builder("r", "c").payload(payload).source(0, 0).build();
            for (LimitOverride override :
                    List.of(new LimitOverride(1, 2), new LimitOverride(2, 1), new LimitOverride(0, 1))) {
                requests.add(request.withLimitOverride(override));
            }
            requests.add(request.withPolicyId("a"));
            requests.add(request.withPolicyId("ab"));
            requests.add(request.withPolicyId("a").withLimitOverride(new LimitOverride(1, 2)));
            requests.add(request.toBuilder().notBeforeMs(1L).build());
            requests.add(request.toBuilder().notBeforeMs(2L).build());
            requests.add(request.toBuilder().reserveMs(1L).build());
            if (payload == asPayload) {
                requests.add(request);
            }
        }
        assertThat(requests.stream().map(ContentHash::of)).doesNotHaveDuplicates();
    }

    @Test
    void the_timestamp_the_deadline_and_the_order_of_attributes_do_not_count() {
        Map<String, String> forwards = new LinkedHashMap<>();
        Map<String, String> backwards = new LinkedHashMap<>();
        for (int i = 0; i < 20; i++) {
            forwards.put("a" + i, "x");
            backwards.put("a" + (19 - i), "x");
        }
        assertThat(ContentHash.of(request("t", 5, 3L, forwards, 1L, "p", 0)))
                .isEqualTo(ContentHash.of(request("t", 5, 3L, backwards, null, "p", 7)));
    }

    @Test
    void an_unknown_size_is_the_same_content_as_0() {
        assertThat(ContentHash.of(request("t", 5, 0L, Map.of(), null, "p", 0)))
                .isEqualTo(ContentHash.of(request("t", 5, null, Map.of(), null, "p", 0)));
    }

    @Test
    void the_hash_is_sha_256_of_the_documented_bytes() throws Exception {
        java.nio.ByteBuffer bytes = java.nio.ByteBuffer.allocate(100);
        bytes.putLong(5).putInt(8).putLong(3).putInt(1).putChar('t');
        bytes.putInt(1).putInt(1).putChar('k').putInt(2).putChar('v').putChar('w');
        bytes.putInt(1).put((byte) 'p').flip();
        java.security.MessageDigest digest = java.security.MessageDigest.getInstance("SHA-256");
        digest.update(bytes);
        java.nio.ByteBuffer hash = java.nio.ByteBuffer.wrap(digest.digest());
        assertThat(ContentHash.of(request("t", 5, 3L, Map.of("k", "vw"), null, "p", 0)))
                .isEqualTo(new ContentHash(hash.getLong(), hash.getLong(), hash.getLong(), hash.getLong()));
    }
}
