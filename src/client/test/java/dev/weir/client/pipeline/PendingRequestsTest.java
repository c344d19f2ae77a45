package dev.weir.client.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class PendingRequestsTest {

    @Test
    void a_number_is_recent_until_five_seconds_of_marks_have_passed() {
        try (PendingRequests pending = new PendingRequests(10, Duration.ZERO)) {
            pending.mark();
            PendingRequest request =
                    new PendingRequest(RequestBuilder.of("alice").build(), List.of(), Duration.ofMinutes(1));
            assertThat(pending.add(request, () -> {})).isTrue();
            for (int i = 0; i < Duration.ofSeconds(5).dividedBy(PendingRequests.MARK); i++) {
                assertThat(pending.isRecent(request.number())).isTrue();
                pending.mark();
            }
            assertThat(pending.isRecent(request.number())).isFalse();
        }
    }
}
