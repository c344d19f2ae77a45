package dev.weir.policy;

import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.request;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.weir.decision.Samples;
import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class PolicyTableTest {

    private static Policy policy(String id, String layer, int priority, RequestMatcher match) {
        return Samples.policy(id, layer, priority, match, window(1, 1_000));
    }

    private static Policy policy(String id, int priority, String... pairs) {
        return policy(id, Policy.DEFAULT_LAYER, priority, match(pairs));
    }

    private static List<String> applicable(PolicyTable table, Request request) {
        return table.applicable(request).stream().map(Policy::id).toList();
    }

    @Test
    void an_empty_table_applies_nothing() {
        assertThat(PolicyTable.EMPTY.applicable(request("c", "free", Map.of()))).isEmpty();
    }

    @Test
    void the_highest_priority_that_matches_applies() {
        PolicyTable table = table(
                policy("all", 0), policy("free", 5, "tier", "free"), policy("articles", 9, "endpoint", "/articles/**"));
        Map<String, String> articles = Map.of("endpoint", "/articles/1");
        assertThat(applicable(table, request("c", "free", articles))).containsExactly("articles");
        assertThat(applicable(table, request("c", "free", Map.of()))).containsExactly("free");
        assertThat(applicable(table, request("c", "gold", Map.of("endpoint", "/"))))
                .containsExactly("all");
    }

    @Test
    void a_tie_goes_to_the_id_that_sorts_first() {
        assertThat(applicable(table(policy("b", 1), policy("a", 1), policy("c", 0)), request("c", null, Map.of())))
                .containsExactly("a");
        assertThat(applicable(
                        table(policy("b", 1, "tier", "free"), policy("a", 1, "client", "c")),
                        request("c", "free", Map.of())))
                .containsExactly("a");
    }

    @Test
    void the_checksum_identifies_the_versions_whatever_their_order() {
        Policy a1 = version(1, 0, policy("a", 0));
        Policy a2 = version(2, 0, policy("a", 0));
        Policy b1 = version(1, 0, policy("b", 0));
        Policy b2 = version(2, 0, policy("b", 0));
        assertThat(PolicyTable.EMPTY.checksum()).isZero();
        assertThat(table(a1, b2).checksum())
                .isEqualTo(table(b2, a1).checksum())
                .isEqualTo((table(a1).checksum() + table(b2).checksum()) & 0xFFFF_FFFFL)
                .isEqualTo(PolicyTable.checksum(List.of(b2, a1)));
        assertThat(List.of(table(a1), table(a2), table(a1, a2), table(a1, b1), table(a1, b2), table(a2, b1)))
                .extracting(PolicyTable::checksum)
                .doesNotHaveDuplicates()
                .allMatch(checksum -> checksum > 0 && checksum <= 0xFFFF_FFFFL);
        assertThat(table(a1).checksum()).as("the same on every machine").isEqualTo(995_218_672L);
    }

    private static Policy version(long version, long effectiveFromMs, Policy of) {
        return version(version, EffectivePeriod.from(effectiveFromMs), of);
    }

    private static Policy version(long version, EffectivePeriod effective, Policy of) {
        return of.toBuilder().version(version).effective(effective).build();
    }

    private static List<Long> versionsAt(PolicyTable table, long timestampMs) {
        Request request = Request.builder("r", "c")
                .tier("free")
                .timestampMs(timestampMs)
                .source(0, 0)
                .build();
        return table.applicable(request).stream().map(Policy::version).toList();
    }

    @Test
    void a_policy_applies_from_its_effective_from_on() {
        PolicyTable table = table(version(1, 100, policy("p", 0)));
        assertThat(versionsAt(table, 99)).isEmpty();
        assertThat(versionsAt(table, 100)).containsExactly(1L);
    }

    @Test
    void the_newest_effective_version_applies() {
        PolicyTable table = table(
                version(3, 200, policy("p", -5, "tier", "free")),
                version(1, 0, policy("p", 0)),
                version(2, 100, policy("p", 9, "tier", "*")),
                version(4, 150, policy("other", -1)));
        assertThat(versionsAt(table, 0)).containsExactly(1L);
        assertThat(versionsAt(table, 99)).containsExactly(1L);
        assertThat(versionsAt(table, 100)).containsExactly(2L);
        assertThat(versionsAt(table, 199)).containsExactly(2L);
        assertThat(versionsAt(table, 200))
                .as("the other policy has the higher priority at that time")
                .containsExactly(4L);
    }

    @Test
    void a_later_version_that_is_effective_sooner_replaces_earlier_ones() {
        PolicyTable table =
                table(version(1, 0, policy("p", 0)), version(2, 100, policy("p", 0)), version(3, 50, policy("p", 0)));
        assertThat(versionsAt(table, 49)).containsExactly(1L);
        assertThat(versionsAt(table, 50)).containsExactly(3L);
        assertThat(versionsAt(table, 100)).containsExactly(3L);
    }

    @Test
    void the_newest_effective_version_is_in_force_whichever_applies() {
        PolicyTable table = table(
                version(1, 10, policy("p", 0)),
                version(2, 100, policy("p", 0)),
                version(3, 50, policy("p", 0)),
                version(4, 0, policy("other", 9)));
        assertThat(table.inForce("p", 9)).isNull();
        assertThat(table.inForce("p", 49).version()).isEqualTo(1);
        assertThat(table.inForce("p", 50).version()).isEqualTo(3);
        assertThat(table.inForce("p", 100).version()).isEqualTo(3);
        assertThat(table.inForce("nobody", 100)).isNull();
    }

    @Test
    void a_policy_applies_until_its_end_and_then_those_of_lower_priority_do() {
        PolicyTable table = table(
                version(1, 0, policy("usual", 0)), version(2, new EffectivePeriod(100, 200), policy("override", 9)));
        assertThat(versionsAt(table, 99)).containsExactly(1L);
        assertThat(versionsAt(table, 100)).containsExactly(2L);
        assertThat(versionsAt(table, 199)).containsExactly(2L);
        assertThat(versionsAt(table, 200)).containsExactly(1L);
        assertThat(table.inForce("override", 199).version()).isEqualTo(2);
        assertThat(table.inForce("override", 200)).isNull();
        assertThat(table.changesAfter(199)).isTrue();
        assertThat(table.changesAfter(200)).isFalse();
    }

    @Test
    void earlier_versions_do_not_come_back_after_the_end() {
        PolicyTable table =
                table(version(1, 0, policy("p", 0)), version(2, new EffectivePeriod(100, 200), policy("p", 0)));
        assertThat(versionsAt(table, 99)).containsExactly(1L);
        assertThat(versionsAt(table, 199)).containsExactly(2L);
        assertThat(versionsAt(table, 200)).isEmpty();
        assertThat(table.inForce("p", 200)).isNull();
    }

    @Test
    void a_later_version_replaces_one_that_has_ended() {
        PolicyTable table =
                table(version(1, new EffectivePeriod(0, 100), policy("p", 0)), version(2, 200, policy("p", 0)));
        assertThat(versionsAt(table, 99)).containsExactly(1L);
        assertThat(versionsAt(table, 100)).isEmpty();
        assertThat(versionsAt(table, 200)).containsExactly(2L);
    }

    @Test
    void a_negative_priority_ranks_last() {
        assertThat(applicable(table(policy("a", -1, "tier", "free"), policy("b", 0)), request("c", "free", Map.of())))
                .containsExactly("b");
    }

    @Test
    void extreme_priorities_are_ordered() {
        assertThat(applicable(
                        table(policy("a", Integer.MIN_VALUE), policy("b", Integer.MAX_VALUE), policy("c", 0)),
                        request("c", null, Map.of())))
                .containsExactly("b");
    }

    @Test
    void one_of_each_layer_applies() {
        PolicyTable table = table(
                policy("y1", "y", 1, RequestMatcher.ALL),
                policy("y2", "y", 2, match("tier", "free")),
                policy("x1", "x", 0, match("tier", "free")),
                policy("z1", "z", 0, match("tier", "gold")));
        assertThat(applicable(table, request("c", "free", Map.of()))).containsExactly("x1", "y2");
        assertThat(applicable(table, request("c", "gold", Map.of()))).containsExactly("y1", "z1");
        assertThat(applicable(table, request("c", null, Map.of()))).containsExactly("y1");
    }

    @Test
    void any_value_of_a_list_selects_the_policy() {
        PolicyTable table = table(policy("some", 0, "tier", "free|gold|b*"));
        for (String tier : List.of("free", "gold", "b", "bronze")) {
            assertThat(applicable(table, request("c", tier, Map.of()))).as(tier).containsExactly("some");
        }
        assertThat(applicable(table, request("c", "silver", Map.of()))).isEmpty();
        assertThat(applicable(table, request("c", null, Map.of()))).isEmpty();
    }

    @Test
    void a_glob_is_found_by_its_start() {
        PolicyTable table = table(
                policy("short", 0, "endpoint", "/a*"),
                policy("long", 1, "endpoint", "/a/b/c/**"),
                policy("end", 2, "endpoint", "**.json"));
        assertThat(applicable(table, request("c", null, Map.of("endpoint", "/a"))))
                .containsExactly("short");
        assertThat(applicable(table, request("c", null, Map.of("endpoint", "/a/b/c/d"))))
                .containsExactly("long");
        assertThat(applicable(table, request("c", null, Map.of("endpoint", "/a/b/c/d.json"))))
                .containsExactly("end");
        assertThat(applicable(table, request("c", null, Map.of("endpoint", "/"))))
                .isEmpty();
        assertThat(applicable(table, request("c", null, Map.of("endpoint", ""))))
                .isEmpty();
    }

    @Test
    void an_empty_literal_is_a_value_like_any_other() {
        PolicyTable table = table(policy("none", 1, "region", ""), policy("some", 0, "region", "*"));
        assertThat(applicable(table, request("c", null, Map.of("region", "")))).containsExactly("none");
        assertThat(applicable(table, request("c", null, Map.of("region", "eu"))))
                .containsExactly("some");
        assertThat(applicable(table, request("c", null, Map.of()))).isEmpty();
    }

    @Test
    void an_escaped_wildcard_is_a_literal() {
        PolicyTable table = table(policy("star", 0, "endpoint", "/a\\*"));
        assertThat(applicable(table, request("c", null, Map.of("endpoint", "/a*"))))
                .containsExactly("star");
        assertThat(applicable(table, request("c", null, Map.of("endpoint", "/ab"))))
                .isEmpty();
    }

    @Test
    void two_policies_with_the_same_id_are_rejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> table(policy("a", "x", 0, RequestMatcher.ALL), policy("a", "y", 0, RequestMatcher.ALL)))
                .withMessage("two policies have the id a and the version 1");
    }

    /** The definition: in each layer, the best of all policies that match. */
    private static List<String> byScanning(List<Policy> policies, Request request) {
        TreeMap<String, Policy> best = new TreeMap<>();
        for (Policy policy : policies) {
            if (matches(policy.match(), request)) {
                best.merge(policy.layer(), policy, PolicyTableTest::better);
            }
        }
        return best.values().stream().map(Policy::id).toList();
    }

    private static Policy better(Policy one, Policy other) {
        if (one.priority() != other.priority()) {
            return one.priority() > other.priority() ? one : other;
        }
        return one.id().compareTo(other.id()) < 0 ? one : other;
    }

    private static boolean matches(RequestMatcher match, Request request) {
        return match.conditions().entrySet().stream().allMatch(condition -> {
            String value = request.field(condition.getKey());
            return value != null
                    && condition.getValue().stream().anyMatch(glob -> NaiveGlob.matches(glob.toString(), value));
        });
    }

    @Test
    void random_tables_apply_what_a_scan_of_all_policies_finds() {
        int found = 0;
        for (int seed = 0; seed < 400; seed++) {
            Random random = new Random(seed);
            List<Policy> policies = new ArrayList<>();
            for (int i = random.nextInt(25); i >= 0; i--) {
                policies.add(policy(
                        "p" + random.nextInt(1_000) + "-" + i,
                        "layer" + random.nextInt(3),
                        random.nextInt(4) - 1,
                        randomMatch(random)));
            }
            PolicyTable table = PolicyTable.of(policies);
            for (int i = 0; i < 60; i++) {
                Request request = randomRequest(random);
                List<String> expected = byScanning(policies, request);
                found += expected.size();
                assertThat(applicable(table, request))
                        .as("seed %d: %s of %s", seed, request, policies)
                        .isEqualTo(expected);
            }
        }
        assertThat(found).as("number of applicable policies").isGreaterThan(10_000);
    }

    /** A table that was changed many times behaves as one that was built from the policies that are left. */
    @Test
    void a_table_after_random_changes_equals_one_of_the_policies_that_are_left() {
        int found = 0;
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            TreeMap<String, List<Policy>> byId = new TreeMap<>();
            PolicyTable table = PolicyTable.EMPTY;
            for (int change = 0; change < 60; change++) {
                String id = "p" + random.nextInt(30);
                List<Policy> versions = random.nextInt(4) == 0 ? List.of() : randomVersions(random, id);
                byId.put(id, versions);
                PolicyTable before = table;
                long checksum = before.checksum();
                table = table.with(id, versions);
                assertThat(before.checksum()).as("the table before is the same").isEqualTo(checksum);
            }
            List<Policy> left =
                    new ArrayList<>(byId.values().stream().flatMap(List::stream).toList());
            Collections.shuffle(left, random);
            PolicyTable rebuilt = PolicyTable.of(left);
            assertThat(table.checksum()).isEqualTo(rebuilt.checksum()).isEqualTo(PolicyTable.checksum(left));
            for (String id : byId.keySet()) {
                assertThat(table.versions(id)).containsExactlyElementsOf(rebuilt.versions(id));
                assertThat(table.latest(id)).isEqualTo(rebuilt.latest(id));
            }
            for (long atMs = 0; atMs <= 50; atMs += 10) {
                assertThat(table.changesAfter(atMs)).isEqualTo(rebuilt.changesAfter(atMs));
                for (String id : byId.keySet()) {
                    assertThat(table.inForce(id, atMs)).isEqualTo(rebuilt.inForce(id, atMs));
                }
            }
            PolicyTable.Search search = new PolicyTable.Search();
            for (int i = 0; i < 40; i++) {
                Request request = randomRequest(random);
                long atMs = random.nextInt(50);
                Policy[] expected = rebuilt.applicableAt(request, atMs);
                found += expected.length;
                assertThat(table.applicableAt(request, atMs))
                        .as("seed %d: %s at %d of %s", seed, request, atMs, left)
                        .containsExactly(expected);
                table.find(request, atMs, search);
                assertThat(search.size()).isEqualTo(expected.length);
            }
        }
        assertThat(found).as("number of applicable policies").isGreaterThan(3_000);
    }

    private static List<Policy> randomVersions(Random random, String id) {
        List<Policy> versions = new ArrayList<>();
        long last = 1 + random.nextInt(9);
        for (long version = Math.max(1, last - random.nextInt(3)); version <= last; version++) {
            long fromMs = 10L * random.nextInt(4);
            boolean ends = random.nextInt(4) == 0;
            versions.add(version(
                    version,
                    new EffectivePeriod(fromMs, ends ? fromMs + 10L * (1 + random.nextInt(3)) : EffectivePeriod.NO_END),
                    policy(id, "layer" + random.nextInt(6), random.nextInt(4) - 1, randomMatch(random))));
        }
        Collections.shuffle(versions, random);
        return versions;
    }

    @Test
    void the_removal_of_all_policies_leaves_an_empty_table() {
        PolicyTable table = largeTable(10);
        for (int i = 0; i < 10; i++) {
            table = table.with("plan-" + i, List.of())
                    .with("both-" + i, List.of())
                    .with("path-" + i, List.of());
        }
        table = table.with("all", List.of());
        assertThat(table.checksum()).isZero();
        assertThat(table.applicable(request("c", null, Map.of("plan", "plan-7"))))
                .isEmpty();
        CountedMap attributes = new CountedMap(Map.of("plan", "plan-7"));
        assertThat(table.applicable(request("c", null, attributes))).isEmpty();
        assertThat(attributes.gets).as("reads of fields without policies").isZero();
    }

    @Test
    void a_version_of_another_policy_is_rejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PolicyTable.EMPTY.with("a", List.of(policy("b", 0))))
                .withMessage("the policy b is no version of a");
    }

    /** A policy is filed by its rarest condition, also if that became the rarest only by the policies after it. */
    @Test
    void a_look_up_does_not_try_every_policy_whatever_the_order_of_changes() {
        PolicyTable table = PolicyTable.EMPTY;
        for (int i = 0; i < 1_000; i++) {
            table = table.with("p" + i, List.of(policy("p" + i, 0, "endpoint", "/same", "tenant", "t" + i)));
        }
        assertThat(looksAtAttributes(table, Map.of("endpoint", "/same", "tenant", "t7"), "p7"))
                .isLessThan(10);
        for (int i = 0; i < 1_000; i++) {
            table = table.with("p" + i, List.of(policy("p" + i, 0, "endpoint", "/e" + i, "tenant", "same")));
        }
        assertThat(looksAtAttributes(table, Map.of("endpoint", "/e7", "tenant", "same"), "p7"))
                .isLessThan(10);
    }

    private static final String[] FIELDS = {"client", "tier", "endpoint", "method"};
    private static final String[] VALUES = {"", "a", "b", "ab", "a/", "a/b", "/a", "/a/b", "aab", "b/a"};
    private static final String[] PATTERNS = {
        "", "a", "b", "ab", "a/b", "/a/b", "*", "**", "a*", "a**", "/a/*", "*b", "**b", "a?", "?", "a/**", "aa*", "\\a"
    };

    private static RequestMatcher randomMatch(Random random) {
        Map<String, List<Glob>> conditions = new HashMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            List<Glob> globs = new ArrayList<>();
            for (int j = random.nextInt(3); j >= 0; j--) {
                globs.add(new Glob(PATTERNS[random.nextInt(PATTERNS.length)]));
            }
            conditions.put(FIELDS[random.nextInt(FIELDS.length)], globs);
        }
        return new RequestMatcher(conditions);
    }

    private static Request randomRequest(Random random) {
        Map<String, String> attributes = new HashMap<>();
        for (String field : List.of("endpoint", "method", "other")) {
            if (random.nextInt(4) > 0) {
                attributes.put(field, VALUES[random.nextInt(VALUES.length)]);
            }
        }
        String tier = random.nextInt(4) == 0 ? null : VALUES[random.nextInt(VALUES.length)];
        return request(VALUES[random.nextInt(VALUES.length)], tier, attributes);
    }

    /** Attributes that count how often they are read. */
    private static final class CountedMap extends HashMap<String, String> {
        private int gets;

        CountedMap(Map<String, String> attributes) {
            super(attributes);
        }

        @Override
        public String get(Object key) {
            gets++;
            return super.get(key);
        }
    }

    private static int looksAtAttributes(PolicyTable table, Map<String, String> attributes, String expected) {
        CountedMap counted = new CountedMap(attributes);
        assertThat(applicable(table, request("c", null, counted))).containsExactly(expected);
        return counted.gets;
    }

    /** A policy for each plan, for each endpoint of each plan, for each path prefix, and one for all requests. */
    private static PolicyTable largeTable(int policies) {
        List<Policy> all = new ArrayList<>();
        for (int i = 0; i < policies; i++) {
            all.add(policy("plan-" + i, 1, "plan", "plan-" + i, "method", "GET|PUT"));
            all.add(policy("both-" + i, 2, "plan", "plan-" + i, "endpoint", "/search"));
            all.add(policy("path-" + i, 3, "endpoint", "/path-" + i + "/**", "method", "*"));
        }
        all.add(policy("all", 0));
        Collections.shuffle(all, new Random(4));
        return PolicyTable.of(all);
    }

    @Test
    void a_look_up_does_not_try_every_policy() {
        PolicyTable small = largeTable(10);
        PolicyTable large = largeTable(10_000);
        Map<Map<String, String>, String> requests = Map.of(
                Map.of("plan", "plan-7", "method", "GET", "endpoint", "/"), "plan-7",
                Map.of("plan", "plan-7", "method", "GET", "endpoint", "/search"), "both-7",
                Map.of("plan", "plan-7", "method", "GET", "endpoint", "/path-3/x"), "path-3",
                Map.of("plan", "none", "method", "GET", "endpoint", "/path-3"), "all",
                Map.of("plan", "none", "method", "GET", "endpoint", "/nowhere-at-all-in-any-path"), "all");
        requests.forEach((attributes, expected) -> {
            int looks = looksAtAttributes(small, attributes, expected);
            assertThat(looks).as("reads for %s", expected).isLessThan(15);
            assertThat(looksAtAttributes(large, attributes, expected)).isEqualTo(looks);
        });
    }

    @Test
    void policies_with_the_same_literals_are_tried_best_first() {
        List<Policy> all = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            all.add(policy("p" + i, i, "plan", "free"));
        }
        assertThat(looksAtAttributes(PolicyTable.of(all), Map.of("plan", "free"), "p999"))
                .isLessThan(5);
    }
}
