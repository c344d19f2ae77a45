package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.Samples;
import dev.weir.event.Request;
import dev.weir.policy.ThrottleConflict.InForce;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ShadowedPolicyTest {

    private static final long NOW = 1_000;

    private static RequestMatcher match(String... fieldsAndPatterns) {
        Map<String, List<Glob>> conditions = new HashMap<>();
        for (int i = 0; i < fieldsAndPatterns.length; i += 2) {
            conditions.put(
                    fieldsAndPatterns[i],
                    Arrays.stream(fieldsAndPatterns[i + 1].split(",", -1))
                            .map(Glob::new)
                            .toList());
        }
        return new RequestMatcher(conditions);
    }

    private static Policy policy(String id, int priority, String... match) {
        return Samples.policy(id, "client", priority, match(match), Samples.window(1, 1_000));
    }

    private static Policy in(String layer, Policy policy) {
        return Samples.policy(policy.id(), layer, policy.priority(), policy.match(), Samples.window(1, 1_000));
    }

    private static Policy effective(long fromMs, long untilMs, Policy policy) {
        return policy.toBuilder()
                .version(1)
                .effective(new EffectivePeriod(fromMs, untilMs))
                .maxSizeBytes(null)
                .onExceed(OnExceed.DENY)
                .idempotencyMs(0)
                .sharing(null)
                .build();
    }

    private static List<InForce> inForce(Policy... policies) {
        return Arrays.stream(policies)
                .map(policy -> new InForce(policy, policy.effectiveUntilMs()))
                .toList();
    }

    private static List<String> shadowed(Policy... policies) {
        return ShadowedPolicy.of(inForce(policies), NOW).stream()
                .map(one -> one.policy().id() + " by " + one.by().id())
                .toList();
    }

    @Test
    void of_two_with_the_same_match_and_priority_the_second_by_id_never_applies() {
        assertThat(shadowed(policy("one", 0, "e", "x"), policy("two", 0, "e", "x")))
                .containsExactly("two by one");
        assertThat(shadowed(policy("one", 0, "e", "x"), policy("two", 1, "e", "x")))
                .containsExactly("one by two");
        assertThat(shadowed(policy("one", 0, "e", "x"), in("other", policy("two", 0, "e", "x"))))
                .isEmpty();
        assertThat(shadowed(policy("one", 0, "e", "x"), policy("two", 0, "e", "y")))
                .isEmpty();
    }

    @Test
    void a_policy_whose_requests_are_a_part_of_those_of_one_that_goes_first_never_applies() {
        assertThat(shadowed(policy("all", 1), policy("some", 0, "e", "x"))).containsExactly("some by all");
        assertThat(shadowed(policy("all", 0), policy("some", 1, "e", "x"))).isEmpty();
        assertThat(shadowed(policy("api", 1, "path", "/api/**"), policy("v1", 0, "path", "/api/v1/*", "tier", "free")))
                .containsExactly("v1 by api");
        assertThat(shadowed(policy("any", 1, "client", "**"), policy("some", 0, "e", "x")))
                .containsExactly("some by any");
        assertThat(shadowed(policy("tenants", 1, "tenant", "**"), policy("some", 0, "e", "x")))
                .isEmpty();
        assertThat(shadowed(policy("both", 1, "e", "x,y"), policy("one", 0, "e", "y")))
                .containsExactly("one by both");
        assertThat(shadowed(policy("both", 1, "e", "x,y"), policy("three", 0, "e", "x,y,z")))
                .isEmpty();
    }

    @Test
    void a_policy_is_found_behind_one_that_matches_a_part_of_its_requests() {
        assertThat(shadowed(policy("a", 2, "e", "x"), policy("b", 1, "e", "*"), policy("c", 0, "e", "x,y")))
                .containsExactly("c by b");
    }

    @Test
    void a_policy_is_shadowed_only_as_long_as_both_are_in_force() {
        Policy two = policy("two", 0, "e", "x");
        assertThat(shadowed(effective(0, 5_000, policy("one", 0, "e", "x")), two))
                .isEmpty();
        assertThat(shadowed(effective(0, 5_000, policy("one", 0, "e", "x")), effective(0, 5_000, two)))
                .containsExactly("two by one");
        assertThat(shadowed(effective(2_000, 9_000, policy("one", 0, "e", "x")), effective(0, 5_000, two)))
                .isEmpty();
        assertThat(shadowed(effective(0, 9_000, policy("one", 0, "e", "x")), effective(2_000, 5_000, two)))
                .containsExactly("two by one");
        assertThat(shadowed(policy("one", 0, "e", "x"), effective(0, 900, two))).isEmpty();
    }

    @Test
    void only_pairs_with_a_changed_policy_are_reported() {
        Policy[] policies = {policy("a", 0, "e", "x"), policy("b", 0, "e", "x"), policy("c", 0, "e", "x")};
        PolicyTable table = PolicyTable.of(List.of(policies));
        assertThat(ShadowedPolicy.of(inForce(policies), table, Set.of("c"), NOW))
                .containsExactly(new ShadowedPolicy(policies[2], policies[0]));
        assertThat(ShadowedPolicy.of(inForce(policies), table, Set.of("a"), NOW))
                .containsExactly(
                        new ShadowedPolicy(policies[1], policies[0]), new ShadowedPolicy(policies[2], policies[0]));
        Policy[] many = new Policy[20];
        for (int i = 0; i < many.length; i++) {
            many[i] = policy("p" + (10 + i), 0, "e", i < 18 ? "v" + i : "x");
        }
        Set<String> ids = Set.of("p10", "p11", "p12", "p13", "p14", "p15", "p16", "p17", "p18", "p19", "p29");
        assertThat(ShadowedPolicy.of(inForce(many), PolicyTable.of(List.of(many)), ids, NOW))
                .containsExactly(new ShadowedPolicy(many[19], many[18]));
    }

    @Test
    void the_message_names_both() {
        assertThat(new ShadowedPolicy(policy("two", 0), policy("one", 0)).message())
                .isEqualTo("policy 'two' never applies: policy 'one' of the same layer ('client') goes first by its id,"
                        + " with the same priority, and matches all of its requests; give 'two' a higher priority or"
                        + " another layer, or narrow the match of 'one'");
    }

    /** No request of a small world gets a policy that is reported, and one that no request gets is not overlooked often. */
    @Test
    void what_is_reported_never_applies() {
        List<String> values = List.of("a", "b", "ab", "a/b", "c");
        Random random = new Random(3);
        int reported = 0;
        for (int round = 0; round < 2_000; round++) {
            List<Policy> policies = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                List<String> match = new ArrayList<>();
                for (String field : List.of("e", "client")) {
                    if (random.nextInt(3) > 0) {
                        match.add(field);
                        match.add(
                                List.of("a", "a,b", "*", "**", "a*", "?", "a/*").get(random.nextInt(7)));
                    }
                }
                policies.add(policy("p" + i, random.nextInt(2), match.toArray(String[]::new)));
            }
            PolicyTable table = PolicyTable.of(policies);
            for (ShadowedPolicy one : ShadowedPolicy.of(inForce(policies.toArray(Policy[]::new)), NOW)) {
                reported++;
                for (String client : values) {
                    for (String e : values) {
                        Request request = Request.builder("r", client)
                                .attributes(Map.of("e", e))
                                .timestampMs(NOW)
                                .build();
                        assertThat(table.applicable(request)).doesNotContain(one.policy());
                    }
                }
            }
        }
        assertThat(reported).isGreaterThan(500);
    }
}
