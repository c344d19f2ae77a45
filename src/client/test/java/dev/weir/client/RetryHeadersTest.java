package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Test;

class RetryHeadersTest {

    private final Release release = new Release("r~2", "c", null, "q", 1, 0, 0, 1, Map.of(), null);

    @Test
    void headers_tell_which_attempt_it_is_and_others_go_along() {
        Headers first = new RecordHeaders().add("trace", bytes("t")).add(WeirClient.CORRELATION, bytes("x"));
        Headers second = new RecordHeaders(RetryHeaders.headers(RetryHeaders.work(release, first), 2, first));
        Headers third = new RecordHeaders(RetryHeaders.headers(RetryHeaders.work(release, second), 3, second));
        assertThat(RetryHeaders.work(release, third)).isEqualTo(new ReleaseTask(release, 3, "r~2"));
        assertThat(third.toArray())
                .extracting(header -> header.key())
                .containsExactly("trace", RetryHeaders.ATTEMPT, RetryHeaders.FIRST_REQUEST_ID);
    }

    @Test
    void what_headers_do_not_say_is_a_first_attempt() {
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
    void an_id_that_has_no_room_for_the_attempt_gives_way_to_one_made_of_it() {
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
