package dev.weir.policy;

import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.weir.event.Request;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RequestMatcherTest {

    private static final Request REQUEST =
            request("acme", "free", Map.of("endpoint", "/articles/1", "method", "GET", "empty", ""));

    @Test
    void without_a_condition_matches_everything() {
        assertThat(RequestMatcher.ALL.matches(REQUEST)).isTrue();
        assertThat(RequestMatcher.ALL.matches(request("x", null, Map.of()))).isTrue();
    }

    @Test
    void matches_client_tier_and_attributes() {
        assertThat(match("client", "acme").matches(REQUEST)).isTrue();
        assertThat(match("client", "other").matches(REQUEST)).isFalse();
        assertThat(match("tier", "free").matches(REQUEST)).isTrue();
        assertThat(match("tier", "gold").matches(REQUEST)).isFalse();
        assertThat(match("endpoint", "/articles/**").matches(REQUEST)).isTrue();
        assertThat(match("method", "POST").matches(REQUEST)).isFalse();
    }

    @Test
    void an_attribute_cannot_replace_client_or_tier() {
        Request request = request("acme", null, Map.of("tier", "gold", "client", "other"));
        assertThat(match("tier", "gold").matches(request)).isFalse();
        assertThat(match("client", "other").matches(request)).isFalse();
    }

    @Test
    void all_conditions_must_hold() {
        assertThat(match("tier", "free", "method", "GET").matches(REQUEST)).isTrue();
        assertThat(match("tier", "free", "method", "PUT").matches(REQUEST)).isFalse();
        assertThat(match("tier", "gold", "method", "GET").matches(REQUEST)).isFalse();
    }

    @Test
    void any_of_a_list_may_hold() {
        assertThat(match("method", "PUT|GET").matches(REQUEST)).isTrue();
        assertThat(match("method", "PUT|G*").matches(REQUEST)).isTrue();
        assertThat(match("method", "PUT|POST").matches(REQUEST)).isFalse();
    }

    @Test
    void a_request_that_lacks_the_field_does_not_match() {
        assertThat(match("region", "**").matches(REQUEST)).isFalse();
        assertThat(match("tier", "**").matches(request("acme", null, Map.of()))).isFalse();
    }

    @Test
    void an_empty_value_is_a_value() {
        assertThat(match("empty", "*").matches(REQUEST)).isTrue();
        assertThat(match("empty", "").matches(REQUEST)).isTrue();
        assertThat(match("empty", "?").matches(REQUEST)).isFalse();
    }

    @Test
    void lists_its_fields_in_order() {
        assertThat(match("tier", "a", "client", "b", "endpoint", "c")
                        .conditions()
                        .keySet())
                .containsExactly("client", "endpoint", "tier");
    }

    @Test
    void equals_by_its_conditions() {
        assertThat(match("tier", "a|b")).isEqualTo(match("tier", "a|b")).hasSameHashCodeAs(match("tier", "a|b"));
        assertThat(match("tier", "a|b")).isNotEqualTo(match("tier", "b|a"));
    }

    @Test
    void does_not_change_with_the_map_it_was_made_of() {
        Map<String, List<Glob>> conditions = new HashMap<>(Map.of("tier", List.of(new Glob("free"))));
        RequestMatcher match = new RequestMatcher(conditions);
        conditions.clear();
        assertThat(match.matches(request("acme", "gold", Map.of()))).isFalse();
    }

    @Test
    void rejects_too_many_or_too_few_conditions() {
        Map<String, List<Glob>> fields = new HashMap<>();
        for (int i = 0; i < RequestMatcher.MAX_FIELDS; i++) {
            fields.put("f" + i, List.of(new Glob("x")));
        }
        assertThat(new RequestMatcher(fields).conditions()).hasSize(RequestMatcher.MAX_FIELDS);
        fields.put("one-more", List.of(new Glob("x")));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RequestMatcher(fields))
                .withMessageContaining("32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RequestMatcher(Map.of("tier", List.of())))
                .withMessageContaining("tier must have 1 to 1000 values, has 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RequestMatcher(Map.of("tier", Collections.nCopies(1_001, new Glob("x")))))
                .withMessageContaining("has 1001");
    }
}
