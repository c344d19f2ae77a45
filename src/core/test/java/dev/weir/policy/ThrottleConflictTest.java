package dev.weir.policy;

import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.tokens;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.policy.ThrottleConflict.InForce;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThrottleConflictTest {

    private static Policy throttling(String id, String layer, RequestMatcher match) {
        return onExceed(new OnExceed.Throttle(1_000), policy(id, layer, 0, match, tokens(1, 10_000, 1)));
    }

    private static Policy shaping(String id, String layer, RequestMatcher match) {
        return onExceed(new OnExceed.Shape("sms"), policy(id, layer, 0, match, tokens(1, 10_000, 1)));
    }

    private static List<ThrottleConflict> conflicts(Policy... policies) {
        return ThrottleConflict.of(Arrays.stream(policies)
                .map(policy -> new InForce(policy, Long.MAX_VALUE))
                .toList());
    }

    @ParameterizedTest
    @CsvSource({
        "/sms, /sms, true",
        "/sms, /mail, false",
        "/sms|/mail, /mail|/push, true",
        "/sms*, /sms, true",
        "/sms*, /sm, false",
        "/a/**, /a/b/*, true",
        "/a/*, /b/*, false",
        "**, /x, true",
        "*/x, */y, true" // only the literal prefixes are compared
    })
    void policies_of_different_layers_conflict_if_a_request_may_match_both(String one, String other, boolean conflict) {
        Policy slow = throttling("slow", "a", match("endpoint", one));
        Policy waits = shaping("waits", "b", match("endpoint", other));
        assertThat(conflicts(slow, waits)).isEqualTo(conflict ? List.of(new ThrottleConflict(slow, waits)) : List.of());
        assertThat(conflicts(waits, slow)).hasSize(conflict ? 1 : 0);
    }

    @Test
    void conditions_on_different_fields_exclude_nothing() {
        assertThat(conflicts(
                        throttling("slow", "a", match("tier", "free")), shaping("waits", "b", match("endpoint", "/x"))))
                .hasSize(1);
    }

    @Test
    void policies_of_one_layer_never_apply_together() {
        assertThat(conflicts(throttling("slow", "a", RequestMatcher.ALL), shaping("waits", "a", RequestMatcher.ALL)))
                .isEmpty();
    }

    @Test
    void versions_that_are_never_in_force_together_do_not_conflict() {
        Policy slow = throttling("slow", "a", RequestMatcher.ALL);
        Policy waits = shaping("waits", "b", RequestMatcher.ALL);
        Policy later = Policy.builder("waits")
                .version(2)
                .effective(EffectivePeriod.from(1_000))
                .layer("b")
                .key(waits.key())
                .terms(waits.terms())
                .onExceed(waits.onExceed())
                .build();
        assertThat(ThrottleConflict.of(List.of(new InForce(slow, 1_000), new InForce(later, Long.MAX_VALUE))))
                .isEmpty();
        assertThat(ThrottleConflict.of(List.of(new InForce(slow, 1_001), new InForce(later, Long.MAX_VALUE))))
                .hasSize(1);
    }

    @Test
    void the_message_names_both_policies_and_says_why() {
        assertThat(conflicts(throttling("slow", "a", RequestMatcher.ALL), shaping("waits", "b", RequestMatcher.ALL))
                        .get(0)
                        .message())
                .contains("'slow'", "'waits'", "layer 'a'", "layer 'b'", "faster than 'slow' allows");
    }

    @Test
    void among_many_policies_the_same_pairs_are_found_as_by_comparing_all() {
        Random random = new Random(5);
        for (int i = 0; i < 200; i++) {
            List<Policy> policies = new ArrayList<>();
            for (int j = 0; j < 12; j++) {
                RequestMatcher match = new RequestMatcher(
                        random.nextBoolean()
                                ? Map.of("endpoint", List.of(glob(random)))
                                : Map.of(
                                        "endpoint",
                                        List.of(glob(random), glob(random)),
                                        "tier",
                                        List.of(glob(random))));
                String layer = "l" + random.nextInt(3);
                policies.add(random.nextBoolean() ? throttling("p" + j, layer, match) : shaping("p" + j, layer, match));
            }
            List<ThrottleConflict> expected = new ArrayList<>();
            for (Policy one : policies) {
                for (Policy other : policies) {
                    if (one.onExceed() instanceof OnExceed.Throttle
                            && other.shapes()
                            && !one.layer().equals(other.layer())
                            && one.match().mayOverlap(other.match())) {
                        expected.add(new ThrottleConflict(one, other));
                    }
                }
            }
            assertThat(conflicts(policies.toArray(Policy[]::new))).containsExactlyInAnyOrderElementsOf(expected);
        }
    }

    private static Glob glob(Random random) {
        return new Glob(List.of("a", "b", "ab", "a*", "ab*", "*", "?b", "b?").get(random.nextInt(8)));
    }

    @Test
    void patterns_that_both_match_some_text_overlap() {
        Random random = new Random(7);
        for (int i = 0; i < 5_000; i++) {
            Glob one = glob(random);
            Glob other = glob(random);
            String text = List.of("a", "b", "ab", "bb", "abc", "").get(random.nextInt(6));
            if (one.matches(text) && other.matches(text)) {
                assertThat(one.mayOverlap(other))
                        .as("%s and %s match %s", one, other, text)
                        .isTrue();
            }
        }
    }

    @Test
    void a_policy_that_denies_conflicts_with_none() {
        assertThat(conflicts(inLayer("a", policy("p", tokens(1, 1, 1))), shaping("waits", "b", RequestMatcher.ALL)))
                .isEmpty();
    }
}
