package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
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
}
