package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.event.Release;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Test;

class RetryHeadersTest {

    private final Release release = Release.builder("r~2", "c", "q").build();

    @Test
    void headers_contain_the_attempt_and_other_headers_are_kept() {
        Headers first = new RecordHeaders().add("trace", bytes("t")).add(RequestCorrelation.HEADER, bytes("x"));
        Headers second = new RecordHeaders(RetryHeaders.headers(RetryHeaders.work(release, first), 2, first));
        Headers third = new RecordHeaders(RetryHeaders.headers(RetryHeaders.work(release, second), 3, second));
        assertThat(RetryHeaders.work(release, third)).isEqualTo(new ReleaseTask(release, 3, "r~2"));
        assertThat(third.toArray())
                .extracting(header -> header.key())
                .containsExactly("trace", RetryHeaders.ATTEMPT, RetryHeaders.FIRST_REQUEST_ID);
    }

    @Test
    void without_headers_it_is_the_first_attempt() {
        for (String attempt : new String[] {"", "0", "-1", "x", "99999999999"}) {
            Headers headers = new RecordHeaders()
                    .add(RetryHeaders.ATTEMPT, bytes(attempt))
                    .add(RetryHeaders.FIRST_REQUEST_ID, bytes("r"));
            assertThat(RetryHeaders.work(release, headers)).isEqualTo(new ReleaseTask(release, 1, "r~2"));
        }
        assertThat(RetryHeaders.work(release, new RecordHeaders().add(RetryHeaders.ATTEMPT, null))
                        .attempt())
                .isEqualTo(1);
    }

    @Test
    void an_id_too_long_for_the_attempt_is_replaced_by_a_derived_one() {
        String longest = "x".repeat(RequestRules.MAX_NAME_LENGTH);
        assertThat(RetryHeaders.requestId("r", 2)).isEqualTo("r~2");
        String faces = "\uD83D\uDE00".repeat(RequestRules.MAX_NAME_LENGTH - 2);
        assertThat(RetryHeaders.requestId(faces, 2)).isEqualTo(faces + "~2");
        assertThat(RetryHeaders.requestId(longest, 2))
                .hasSizeLessThan(50)
                .endsWith("~2")
                .isEqualTo(RetryHeaders.requestId(longest, 2))
                .isNotEqualTo(RetryHeaders.requestId("y" + longest.substring(1), 2));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
