package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RequestBuilderTest {

    @Test
    void a_builder_can_be_used_again_without_an_effect_on_earlier_requests() {
        RequestBuilder builder = RequestBuilder.of("alice").attribute("path", "/a");
        Request first = builder.build();
        Request second =
                builder.attribute("path", "/b").attribute("method", "GET").build();
        Request third = builder.attribute("path", "/c").build();
        assertThat(first.attributes()).isEqualTo(Map.of("path", "/a"));
        assertThat(second.attributes()).isEqualTo(Map.of("path", "/b", "method", "GET"));
        assertThat(third.attributes()).isEqualTo(Map.of("path", "/c", "method", "GET"));
    }

    @Test
    void an_acknowledgement_has_the_client_and_the_receipt_of_its_release() {
        Release release = Release.builder("r", "alice", "q")
                .attempt(new Release.Attempt(2, "receipt", 1_000))
                .build();
        Request retry = RequestBuilder.acknowledging(release)
                .kind(RequestKind.COMPLETE)
                .result(Acknowledgement.Result.RETRY)
                .retryAfter(Duration.ofSeconds(5))
                .error("busy")
                .build();
        assertThat(retry.client()).isEqualTo("alice");
        assertThat(retry.requestId()).isNotEqualTo("r");
        assertThat(retry.acknowledgement())
                .isEqualTo(new Acknowledgement("receipt", Acknowledgement.Result.RETRY, 5_000L, "busy"));
        assertThat(RequestBuilder.of("alice").build().acknowledgement()).isNull();
    }

    @Test
    void a_release_without_an_attempt_cannot_be_acknowledged() {
        Release release = Release.builder("r", "alice", "q").build();
        assertThatThrownBy(() -> RequestBuilder.acknowledging(release))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("queue q does not expect an acknowledgement, since it has no max-in-flight");
    }
}
