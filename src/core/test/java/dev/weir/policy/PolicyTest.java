package dev.weir.policy;

import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.request;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.weir.decision.Samples;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.limit.Blocked;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyTest {

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a b", "a/b", "ä", "a\n"})
    void rejects_invalid_ids_and_layers(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> policy(name, window(1, 1)))
                .withMessageContaining("id must be");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Samples.inLayer(name, policy("a", window(1, 1))))
                .withMessageContaining("layer must be");
    }

    @Test
    void names_have_up_to_128_characters() {
        assertThat(policy("a".repeat(128), window(1, 1)).id()).hasSize(128);
        assertThatIllegalArgumentException().isThrownBy(() -> policy("a".repeat(129), window(1, 1)));
    }

    @Test
    void has_one_to_sixteen_limits() {
        assertThat(policy("a", Collections.nCopies(16, window(1, 1)).toArray(Limit<?>[]::new))
                        .terms())
                .hasSize(16);
        assertThatIllegalArgumentException().isThrownBy(() -> policy("a")).withMessage("limits must be 1 to 16, are 0");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> policy("a", Collections.nCopies(17, window(1, 1)).toArray(Limit<?>[]::new)))
                .withMessage("limits must be 1 to 16, are 17");
    }

    @Test
    void a_concurrency_limit_neither_throttles_nor_shapes_nor_is_shared_with_tokens() {
        Policy policy = policy("a", new Concurrency(10, 60_000), window(1, 1));
        assertThat(onExceed(OnExceed.OBSERVE, policy).limits()).hasSize(2);
        assertThat(onExceed(OnExceed.SHADOW_BAN, policy).limits()).hasSize(2);
        for (OnExceed other : List.of(new OnExceed.Throttle(5), new OnExceed.Shape("q"))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> onExceed(other, policy))
                    .withMessageStartingWith("on-exceed must be deny, shadow-ban or observe if a limit is concurrency");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> keyed(List.of("tier"), policy))
                .withMessage(
                        "limits must all be of concurrency if one is and the quota is shared: a lease covers all limits, and"
                                + " slots return while tokens do not. Move the others to a policy in another layer");
        Policy slots = policy("a", new Concurrency(10, 60_000), new Concurrency(20, 1_000), new Blocked());
        assertThat(keyed(List.of("tier"), slots).isShared()).isTrue();
    }

    @Test
    void slots_and_tokens_do_not_continue_one_another() {
        List<Limit<?>> before = List.of(new Concurrency(10, 60_000), window(1, 1));
        assertThat(LimitMatcher.of(before, List.of(window(2, 7), new Concurrency(1, 1))))
                .isEqualTo(Map.of(0, 1, 1, 0));
        assertThat(LimitMatcher.of(before.subList(0, 1), List.of(window(2, 7)))).isEmpty();
        assertThat(LimitMatcher.of(before.subList(1, 2), List.of(new Concurrency(1, 1))))
                .isEmpty();
    }

    @Test
    void a_key_has_no_duplicates() {
        Policy policy = policy("a", window(1, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> keyed(List.of("client", "a", "a"), policy));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> keyed(List.of("client", "1", "2", "3", "4", "5", "6", "7", "8"), policy));
    }

    @Test
    void the_state_key_has_the_values_of_the_key_in_order() {
        Policy policy = policy("a", window(1, 1));
        Request request = request("acme", "free", Map.of("endpoint", "/a", "ip", "1.2.3.4"));
        assertThat(policy.stateKey(request)).isEqualTo(new StateKey("acme", "a", List.of()));
        assertThat(keyed(List.of("ip", "client", "endpoint"), policy).stateKey(request))
                .isEqualTo(new StateKey("acme", "a", List.of("ip", "1.2.3.4", "endpoint", "/a")));
        assertThat(keyed(List.of("client", "tier"), policy).stateKey(request))
                .isEqualTo(new StateKey("acme", "a", List.of("tier", "free")));
        assertThat(keyed(List.of("client", "missing"), policy).stateKey(request))
                .isEqualTo(new StateKey("acme", "a", List.of("missing", "")));
    }

    @Test
    void a_request_is_too_large_only_above_the_max_size() {
        Policy policy = maxSize(100L, policy("a", window(1, 1)));
        Request request = request("c", null, Map.of());
        assertThat(policy.isTooLarge(sized(100, request))).isFalse();
        assertThat(policy.isTooLarge(sized(101, request))).isTrue();
        assertThat(policy.isTooLarge(request)).as("unknown size").isFalse();
        assertThat(policy("b", window(1, 1)).isTooLarge(sized(Long.MAX_VALUE, request)))
                .isFalse();
    }
}
