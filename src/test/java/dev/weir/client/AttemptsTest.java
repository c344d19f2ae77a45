package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.policy.RequestRules;
import dev.weir.shape.Release;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Test;

class AttemptsTest {

    private final Release release = new Release("r~2", "c", null, "q", 1, 0, 0, 1, Map.of(), null);

    @Test
    void headers_tell_which_attempt_it_is_and_others_go_along() {
        Headers first = new RecordHeaders().add("trace", bytes("t")).add(WeirClient.CORRELATION, bytes("x"));
        Headers second = new RecordHeaders(Attempts.headers(Attempts.work(release, first), 2, first));
        Headers third = new RecordHeaders(Attempts.headers(Attempts.work(release, second), 3, second));
        assertThat(Attempts.work(release, third)).isEqualTo(new Work(release, 3, "r~2"));
        assertThat(third.toArray())
                .extracting(header -> header.key())
                .containsExactly("trace", Attempts.ATTEMPT, Attempts.FIRST_REQUEST_ID);
    }

    @Test
    void what_headers_do_not_say_is_a_first_attempt() {
        for (String attempt : new String[] {"", "0", "-1", "x", "99999999999"}) {
            Headers headers = new RecordHeaders()
                    .add(Attempts.ATTEMPT, bytes(attempt))
                    .add(Attempts.FIRST_REQUEST_ID, bytes("r"));
            assertThat(Attempts.work(release, headers)).isEqualTo(new Work(release, 1, "r~2"));
        }
        assertThat(Attempts.work(release, new RecordHeaders().add(Attempts.ATTEMPT, null))
                        .attempt())
                .isEqualTo(1);
    }

    @Test
    void an_id_that_has_no_room_for_the_attempt_gives_way_to_one_made_of_it() {
        String longest = "x".repeat(RequestRules.MAX_NAME_LENGTH);
        assertThat(Attempts.requestId("r", 2)).isEqualTo("r~2");
        String faces = "\uD83D\uDE00".repeat(RequestRules.MAX_NAME_LENGTH - 2);
        assertThat(Attempts.requestId(faces, 2)).isEqualTo(faces + "~2");
        assertThat(Attempts.requestId(longest, 2))
                .hasSizeLessThan(50)
                .endsWith("~2")
                .isEqualTo(Attempts.requestId(longest, 2))
                .isNotEqualTo(Attempts.requestId("y" + longest.substring(1), 2));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
