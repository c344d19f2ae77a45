package dev.weir.envoy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.definition.PolicyFile;
import dev.weir.envoy.EnvoyReference.Entry;
import dev.weir.envoy.EnvoyReference.Found;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.fault.Fault;
import dev.weir.fault.FaultsException;
import dev.weir.limit.Blocked;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class EnvoyImportTest {

    private static final String KEYS = "descriptor-keys";
    private static final EnvoyImport.Options EXACT = new EnvoyImport.Options("envoy", false, Optional.of(KEYS));
    private static final Map<String, Long> UNIT_MS = Map.of(
            "second", 1000L,
            "minute", 60_000L,
            "hour", 3_600_000L,
            "day", 86_400_000L,
            "week", 7 * 86_400_000L,
            "month", 30 * 86_400_000L,
            "year", 365 * 86_400_000L);

    /** A shop, with all kinds of rules: fallbacks, exemptions, nested rules, wildcards, shared counters, shadow mode. */
    private static final String SHOP = """
            domain: shop
            descriptors:
              - key: route
                value: /cart
                rate_limit: {unit: second, requests_per_unit: 40}
              - key: route
                value: /health
              - key: route
                rate_limit: {unit: second, requests_per_unit: 100}
              - key: route
                value: /img/*
                share_threshold: true
                rate_limit: {unit: minute, requests_per_unit: 9000, name: images}
              - key: plan
                value: free
                descriptors:
                  - key: user_id
                    rate_limit: {unit: DAY, requests_per_unit: 1000}
                  - key: user_id
                    value: tester
                    rate_limit: {unlimited: true}
                  - key: user_id
                    value: bot-*-x
                    rate_limit: {unit: hour, requests_per_unit: 0}
              - key: plan
                descriptors:
                  - key: user_id
                    rate_limit: {unit: month, requests_per_unit: 4294967295}
                    shadow_mode: true
              - key: user_id
                rate_limit: {unit: week, requests_per_unit: 7}
                descriptors:
                  - key: region
                    value: eu
                    rate_limit: {unit: year, requests_per_unit: 5}
            """;

    private static EnvoyImport.Result convert(EnvoyImport.Options options, String... texts) {
        EnvoyImport converter = new EnvoyImport(options);
        try {
            for (int i = 0; i < texts.length; i++) {
                converter.add("f" + i + ".yaml", texts[i]);
            }
        } catch (FaultsException e) {
            throw new AssertionError(e.getMessage(), e);
        }
        return converter.convert();
    }

    private static List<Policy> policies(EnvoyImport.Result result) {
        try {
            List<Policy> policies = PolicyFile.read("rules.yaml", result.yaml()).policies().stream()
                    .map(PolicyFile.Definition.PolicyDefinition::policy)
                    .toList();
            assertThat(policies).hasSize(result.policies());
            return policies;
        } catch (FaultsException e) {
            throw new AssertionError(e.getMessage() + "\n" + result.yaml(), e);
        }
    }

    /** Returns the request as which a gateway decides a descriptor. */
    private static Request request(String domain, List<Entry> entries) {
        Map<String, String> attributes = new LinkedHashMap<>();
        entries.forEach(entry -> attributes.put(entry.key(), entry.value()));
        attributes.put("domain", domain);
        attributes.put(KEYS, entries.stream().map(Entry::key).collect(Collectors.joining(",")));
        String client = entries.stream()
                .filter(entry -> Set.of("client", "user_id").contains(entry.key()))
                .map(Entry::value)
                .findFirst()
                .orElse(entries.toString());
        return Request.builder("r", client).attributes(attributes).build();
    }

    private static Entry[] entries(String text) {
        return List.of(text.split(" ")).stream()
                .map(entry -> new Entry(entry.split("=", 2)[0], entry.split("=", 2)[1]))
                .toArray(Entry[]::new);
    }

    private static Limit<?> expected(Found found) {
        if (found.unit() == null) {
            return new Unlimited();
        }
        return found.requests() == 0
                ? new Blocked()
                : new FixedWindow(found.requests(), UNIT_MS.get(found.unit()), false);
    }

    /** Checks that each descriptor has the limit and the counter that envoyproxy/ratelimit gives it. */
    private static void assertSameDecisions(
            EnvoyReference reference, List<Policy> policies, String domain, Collection<List<Entry>> descriptors) {
        PolicyTable table = PolicyTable.of(policies);
        Map<StateKey, String> counters = new HashMap<>();
        Map<String, StateKey> states = new HashMap<>();
        for (List<Entry> entries : descriptors) {
            Request request = request(domain, entries);
            Optional<Found> found = reference.find(domain, entries);
            List<Policy> applying = table.applicable(request);
            Limit<?> limit = applying.isEmpty()
                    ? new Unlimited()
                    : applying.get(0).limits().get(0);
            Limit<?> expected = found.map(EnvoyImportTest::expected).orElse(new Unlimited());
            if (!limit.equals(expected)) {
                throw new AssertionError(entries + " has " + limit + " by " + applying + ", not " + expected);
            }
            if (!(limit instanceof Unlimited)) {
                StateKey state = applying.get(0).stateKey(request);
                String counter = found.get().counter();
                String sameState = counters.putIfAbsent(state, counter);
                StateKey sameCounter = states.putIfAbsent(counter, state);
                boolean isSame = (sameState == null || sameState.equals(counter))
                        && (sameCounter == null || sameCounter.equals(state))
                        && applying.get(0).observes() == found.get().shadow();
                if (!isSame) {
                    throw new AssertionError(entries + " is counted by " + state + ", not by " + counter);
                }
            }
        }
    }

    private static List<List<Entry>> combinations(Collection<List<String>> sequences, List<String> values) {
        List<List<Entry>> all = new ArrayList<>();
        for (List<String> keys : sequences) {
            List<List<Entry>> some = List.of(List.of());
            for (String key : keys) {
                some = some.stream()
                        .flatMap(entries -> values.stream().map(value -> {
                            List<Entry> longer = new ArrayList<>(entries);
                            longer.add(new Entry(key, value));
                            return longer;
                        }))
                        .collect(Collectors.toList());
            }
            all.addAll(some);
        }
        return all;
    }

    /** Returns all orders of one to three different keys. */
    private static Set<List<String>> sequences(List<String> keys) {
        Set<List<String>> all = new HashSet<>();
        for (String first : keys) {
            for (String second : keys) {
                for (String third : keys) {
                    for (List<String> some :
                            List.of(List.of(first), List.of(first, second), List.of(first, second, third))) {
                        if (new HashSet<>(some).size() == some.size()) {
                            all.add(some);
                        }
                    }
                }
            }
        }
        return all;
    }

    @Test
    void policies_have_the_limits_and_counters_of_the_descriptors() {
        List<String> values = List.of("/cart", "/health", "/img/a", "/img/b/c", "free", "tester", "bot-1-x", "eu", "");
        EnvoyReference reference = new EnvoyReference(SHOP);

        EnvoyImport.Result byKeys = convert(EXACT, SHOP);
        assertSameDecisions(
                reference,
                policies(byKeys),
                "shop",
                combinations(sequences(List.of("route", "plan", "user_id", "region")), values));

        EnvoyImport.Result result = convert(EnvoyImport.Options.WITHOUT_KEYS, SHOP);
        assertSameDecisions(
                reference,
                policies(result),
                "shop",
                combinations(
                        List.of(
                                List.of("route"),
                                List.of("plan"),
                                List.of("plan", "user_id"),
                                List.of("user_id"),
                                List.of("user_id", "region")),
                        values));
        assertThat(result.notConverted()).isEmpty();
        assertThat(result.ignored()).isEmpty();
    }

    @Test
    void without_an_attribute_for_the_keys_further_entries_are_not_distinguished() {
        Request further = request("shop", List.of(entries("route=/cart color=red")));
        assertThat(PolicyTable.of(policies(convert(EnvoyImport.Options.WITHOUT_KEYS, SHOP)))
                        .applicable(further))
                .extracting(Policy::id)
                .containsExactly("shop.route_-cart");
        assertThat(PolicyTable.of(policies(convert(EXACT, SHOP))).applicable(further))
                .isEmpty();
    }

    /** A tree of descriptors with few keys and values, so that many rules compete. */
    private static void randomDescriptors(
            Random random, List<String> keys, boolean ordered, int depth, String indent, StringBuilder yaml) {
        List<String> values = List.of("", "x", "xy", "x*", "*y", "x*y", "*", "x**z", "?");
        Set<String> used = new HashSet<>();
        for (int i = 0; i < 1 + random.nextInt(4); i++) {
            int index = random.nextInt(keys.size());
            String key = keys.get(index);
            String value = values.get(random.nextInt(values.size()));
            if (!used.add(key + "_" + value)) {
                continue;
            }
            yaml.append(indent).append("- key: ").append(key).append('\n');
            if (!value.isEmpty()) {
                yaml.append(indent).append("  value: '").append(value).append("'\n");
            }
            if (value.contains("*") && random.nextInt(3) == 0) {
                yaml.append(indent).append("  share_threshold: true\n");
            }
            if (random.nextInt(4) > 0) {
                String limit = random.nextInt(5) == 0
                        ? "unlimited: true"
                        : "unit: minute, requests_per_unit: " + random.nextInt(1000);
                yaml.append(indent).append("  rate_limit: {").append(limit).append("}\n");
            }
            List<String> others = new ArrayList<>(ordered ? keys.subList(index + 1, keys.size()) : keys);
            others.remove(key);
            if (depth > 1 && !others.isEmpty() && random.nextInt(3) > 0) {
                yaml.append(indent).append("  descriptors:\n");
                randomDescriptors(random, others, ordered, depth - 1, indent + "    ", yaml);
            }
        }
    }

    private static void collectSequences(List<?> descriptors, List<String> above, Set<List<String>> sequences) {
        for (Object descriptor : descriptors) {
            Map<?, ?> map = (Map<?, ?>) descriptor;
            List<String> keys = new ArrayList<>(above);
            keys.add((String) map.get("key"));
            sequences.add(keys);
            if (map.get("descriptors") instanceof List<?> next) {
                collectSequences(next, keys, sequences);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void policies_of_random_descriptors_decide_as_the_reference_does(boolean hasKeysAttribute) {
        List<String> keys = List.of("a", "b", "user_id");
        List<String> values = List.of("", "x", "x/y", "xz", "y", "?");
        for (int seed = 0; seed < Effort.times(60); seed++) {
            StringBuilder yaml = new StringBuilder("domain: d\ndescriptors:\n");
            randomDescriptors(new Random(seed), keys, !hasKeysAttribute, 3, "  ", yaml);
            String config = yaml.toString();
            EnvoyImport.Result result = convert(hasKeysAttribute ? EXACT : EnvoyImport.Options.WITHOUT_KEYS, config);
            assertThat(result.notConverted()).as(config).isEmpty();
            Set<List<String>> sequences = new HashSet<>();
            if (hasKeysAttribute) {
                sequences.addAll(sequences(List.of("a", "b", "user_id", "c")));
            } else {
                Map<String, Object> read = new org.yaml.snakeyaml.Yaml().load(config);
                collectSequences((List<?>) read.get("descriptors"), List.of(), sequences);
            }
            try {
                assertSameDecisions(new EnvoyReference(config), policies(result), "d", combinations(sequences, values));
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + "\n" + config + "\n" + result.yaml(), e);
            }
        }
    }

    @Test
    void files_of_a_domain_are_merged_and_domains_are_separate() {
        String first = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: second, requests_per_unit: 1}}]";
        String second = "domain: d\ndescriptors: [{key: b, rate_limit: {unit: second, requests_per_unit: 2}}]";
        String third = "domain: 'e*'\ndescriptors: [{key: a, rate_limit: {unit: second, requests_per_unit: 3}}]";
        List<Policy> policies = policies(convert(EnvoyImport.Options.WITHOUT_KEYS, first, second, third));
        EnvoyReference reference = new EnvoyReference(first, second, third);
        List<List<Entry>> descriptors = combinations(List.of(List.of("a"), List.of("b")), List.of("v", "w"));
        for (String domain : List.of("d", "e*", "ee")) {
            assertSameDecisions(reference, policies, domain, descriptors);
        }
    }

    @Test
    void a_policy_file_names_the_place_of_each_descriptor() {
        EnvoyImport.Result result = convert(new EnvoyImport.Options("edge", true, Optional.empty()), """
                domain: mail
                descriptors:
                  - key: to
                    rate_limit: {unit: day, requests_per_unit: 100}
                  - key: kind
                    value: "news?"
                    descriptors:
                      - key: to
                        rate_limit: {unit: week, requests_per_unit: 1, name: weekly news}
                        shadow_mode: true
                """);
        assertThat(result.yaml()).isEqualTo("""
                # Converted by weir policies import-envoy from f0.yaml
                policies:
                  # f0.yaml:3
                  - id: mail.to
                    layer: edge
                    priority: 10
                    match: {domain: mail, to: "**"}
                    key: [client, to]
                    limits:
                      - {algorithm: fixed-window, limit: 100, per: 1d}
                    lease: client
                  # f0.yaml:8
                  - id: mail.kind_news-.to
                    layer: edge
                    priority: 21
                    match: {domain: mail, kind: "news\\\\?", to: "**"}
                    key: [client, to]
                    limits:
                      - {algorithm: fixed-window, limit: 1, per: 7d}
                    on-exceed: observe
                    lease: client
                  # descriptors without a limit
                  - id: mail.kind.to-others
                    layer: edge
                    priority: 20
                    match: {domain: mail, kind: "**", to: "**"}
                    limits:
                      - {unlimited: true}
                    lease: client
                """);
        assertThat(policies(result)).hasSize(3);
    }

    @Test
    void the_name_of_a_limit_becomes_the_id_of_its_policy() {
        EnvoyImport.Result result = convert(EnvoyImport.Options.WITHOUT_KEYS, """
                domain: d
                descriptors:
                  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, name: daily}}
                  - {key: b, rate_limit: {unit: day, requests_per_unit: 1, name: daily}}
                  - {key: c, value: "x/y", rate_limit: {unit: day, requests_per_unit: 1}}
                  - {key: c, value: "x?y", rate_limit: {unit: day, requests_per_unit: 1}}
                """);
        assertThat(policies(result)).extracting(Policy::id).containsExactly("daily", "d.b", "d.c_x-y", "d.c_x-y-2");
    }

    @Test
    void any_text_can_be_a_domain_key_or_value() {
        String odd = "a: {b}, [c] # \\\"d\\\" 'e' \\\\ ? \\t \\u00e4\\u20ac\\U0001F600 on";
        EnvoyImport.Result result = convert(
                EXACT,
                "domain: \"" + odd + "\"\ndescriptors:\n  - key: \"" + odd
                        + "\"\n    value: \"" + odd + "\"\n    rate_limit: {unit: second, requests_per_unit: 3}\n"
                        + "  - {key: yes, value: null, rate_limit: {unit: second, requests_per_unit: 4}}\n"
                        + "  - {key: 0x1, value: 1.10, rate_limit: {unit: second, requests_per_unit: 5}}\n");
        String text = "a: {b}, [c] # \"d\" 'e' \\ ? \t ä€😀 on";
        PolicyTable table = PolicyTable.of(policies(result));
        Map<Entry, Long> limits =
                Map.of(new Entry(text, text), 3L, new Entry("yes", "no"), 4L, new Entry("0x1", "1.10"), 5L);
        limits.forEach((entry, limit) -> assertThat(table.applicable(request(text, List.of(entry))))
                .as(entry.toString())
                .extracting(policy -> policy.limits().get(0).capacity())
                .containsExactly(limit));
    }

    private static List<String> messages(List<Fault> faults) {
        return faults.stream().map(Fault::toString).toList();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            {key: "a*", rate_limit: {unit: day, requests_per_unit: 1}}  | f0.yaml:2: descriptors[0]: is not converted: the key has a wildcard (*); write a descriptor for each key
            {key: domain, rate_limit: {unit: day, requests_per_unit: 1}}  | f0.yaml:2: descriptors[0]: is not converted: requests of Weir have another attribute domain; rename the key here and in Envoy's rate limit actions
            {key: a, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]} | f0.yaml:2: descriptors[0].descriptors[0]: is not converted: the path has a key twice (a, a), and a request of Weir has one value for each; use different keys
            {key: a, rate_limit: {unit: day}}     | f0.yaml:2: descriptors[0].rate_limit: has no requests_per_unit: the policy denies all requests, as envoyproxy/ratelimit does; set limit in the policy
            {key: remote_address, value: "2001:db8::1", rate_limit: {unit: day, requests_per_unit: 1}} | f0.yaml:2: descriptors[0].value: is an IPv6 address: the policy needs gateway.ipv6-prefix: 128 in the gateway's configuration, since by default it replaces addresses by their ranges
            {key: a, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}} | f0.yaml:2: descriptors[0].quota_mode: is converted to a limit: Weir denies a request if one of its quotas is exceeded, not only if all are; set quota: true for these descriptors in the gateway's configuration
            """)
    void what_cannot_be_converted_is_named(String descriptor, String message) {
        EnvoyImport.Result result =
                convert(EnvoyImport.Options.WITHOUT_KEYS, "domain: d\ndescriptors: [" + descriptor + "]");
        assertThat(messages(result.notConverted())).containsExactly(message);
        policies(result);
    }

    @Test
    void other_orders_of_keys_are_named_unless_requests_have_an_attribute_for_them() {
        String config = """
                domain: d
                descriptors:
                  - {key: a, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}
                  - {key: b, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 2}}]}
                """;
        assertThat(messages(convert(EnvoyImport.Options.WITHOUT_KEYS, config).notConverted()))
                .containsExactly("f0.yaml:4: descriptors[1].descriptors[0]: is not converted: other descriptors have"
                        + " the same keys in another order (a, b), which policies do not distinguish; send the entries"
                        + " in one order, or use --keys-attribute");
        EnvoyImport.Result exact = convert(EXACT, config);
        assertThat(exact.notConverted()).isEmpty();
        assertThat(exact.policies()).isEqualTo(2);
    }

    @Test
    void limits_that_replace_others_are_named() {
        EnvoyImport.Result result = convert(EnvoyImport.Options.WITHOUT_KEYS, """
                domain: d
                descriptors:
                  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, name: small}}
                  - key: b
                    rate_limit:
                      unit: day
                      requests_per_unit: 2
                      replaces:
                        - name: small
                        - name: unknown
                """);
        assertThat(messages(result.notConverted()))
                .containsExactly("f0.yaml:9: descriptors[1].rate_limit.replaces[0]: is not converted: in Weir, the"
                        + " limit 'small' also applies to requests to which this one applies; remove its descriptor"
                        + " from Envoy's rate limit actions for them");
        assertThat(messages(result.ignored()))
                .containsExactly("f0.yaml:10: descriptors[1].rate_limit.replaces[1]: is ignored: no converted limit of"
                        + " this domain has the name 'unknown'");
    }

    @Test
    void a_limit_that_counts_by_too_many_fields_is_named() {
        StringBuilder yaml = new StringBuilder("domain: d\n");
        for (int depth = 0; depth < 8; depth++) {
            String indent = "  ".repeat(depth);
            yaml.append(indent).append(depth == 0 ? "" : "  ").append("descriptors:\n");
            yaml.append(indent).append("  - key: k").append(depth).append('\n');
        }
        yaml.append("  ".repeat(9)).append("rate_limit: {unit: day, requests_per_unit: 1}\n");
        assertThat(messages(convert(EnvoyImport.Options.WITHOUT_KEYS, yaml.toString())
                        .notConverted()))
                .singleElement()
                .asString()
                .endsWith("it counts by more than 8 fields; use fewer entries without an exact value");
    }

    @Test
    void keys_without_effect_on_decisions_are_named_separately() {
        EnvoyImport.Result result = convert(EnvoyImport.Options.WITHOUT_KEYS, """
                domain: d
                descriptors:
                  - key: a
                    detailed_metric: true
                    value_to_metric: true
                    metadata: {owner: {team: [x]}}
                    rate_limit: {unit: day, requests_per_unit: 1, shadow_mode: true}
                """);
        assertThat(result.notConverted()).isEmpty();
        assertThat(messages(result.ignored()))
                .extracting(message -> message.replaceAll(": is ignored.*", ""))
                .containsExactly(
                        "f0.yaml:4: descriptors[0].detailed_metric",
                        "f0.yaml:5: descriptors[0].value_to_metric",
                        "f0.yaml:6: descriptors[0].metadata",
                        "f0.yaml:7: descriptors[0].rate_limit.shadow_mode");
        assertThat(policies(result).get(0).observes()).isFalse();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            `descriptors: []`                              | x.yaml:1: domain: is required
            `domain: ""`                                   | x.yaml:1: domain: must be the name of a domain, is empty
            `{domain: d, descriptors: [a]}`                | x.yaml:1: descriptors[0]: must be a mapping, is 'a'
            `{domain: d, descriptors: [{value: v}]}`       | x.yaml:1: descriptors[0].key: is required
            `{domain: d, descriptors: [{key: ""}]}`        | x.yaml:1: descriptors[0].key: must be the key of an entry, is empty
            `{domain: d, descriptors: [{key: a, value: b}, {key: a_b}]}` | x.yaml:1: descriptors[1]: is a duplicate: another descriptor of this level has the key and value a_b
            `{domain: d, descriptors: [{key: a, ratelimit: {}}]}` | x.yaml:1: descriptors[0].ratelimit: unknown key; did you mean "rate_limit"?
            `{domain: d, descriptors: [{key: a, rate_limit: {unit: fortnight}}]}` | x.yaml:1: descriptors[0].rate_limit.unit: must be one of second, minute, hour, day, week, month, year, is 'fortnight'
            `{domain: d, descriptors: [{key: a, rate_limit: {requests_per_unit: 1}}]}` | x.yaml:1: descriptors[0].rate_limit.unit: is required
            `{domain: d, descriptors: [{key: a, rate_limit: {unlimited: true, unit: day}}]}` | x.yaml:1: descriptors[0].rate_limit.unit: must not be set if unlimited is true
            `{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}]}` | x.yaml:1: descriptors[0].rate_limit.requests_per_unit: must be a whole number from 0 to 4294967295, is '4294967296'
            `{domain: d, descriptors: [{key: a, value: b, share_threshold: true}]}` | x.yaml:1: descriptors[0].share_threshold: requires a value with a wildcard (*)
            `{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: ""}]}}]}` | x.yaml:1: descriptors[0].rate_limit.replaces[0]: must have the name of another limit
            `{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1, name: n, replaces: [{name: n}]}}]}` | x.yaml:1: descriptors[0].rate_limit.replaces[0]: must not be the limit itself, is 'n'
            """)
    void a_configuration_that_the_reference_rejects_is_rejected_with_the_place(String config, String message) {
        assertThatThrownBy(() -> new EnvoyImport(EnvoyImport.Options.WITHOUT_KEYS).add("x.yaml", config))
                .isInstanceOf(FaultsException.class)
                .hasMessage(message);
    }

    @Test
    void a_duplicate_in_another_file_of_the_domain_is_rejected() throws FaultsException {
        EnvoyImport converter = new EnvoyImport(EnvoyImport.Options.WITHOUT_KEYS);
        converter.add("x.yaml", "{domain: d, descriptors: [{key: a}]}");
        assertThatThrownBy(() -> converter.add("y.yaml", "{domain: d, descriptors: [{key: a}]}"))
                .hasMessageStartingWith("y.yaml:1: descriptors[0]: is a duplicate");
    }

    @Test
    void more_policies_than_a_file_can_have_are_rejected() throws FaultsException {
        StringBuilder yaml = new StringBuilder("domain: d\ndescriptors:\n");
        for (int i = 0; i <= PolicyFile.MAX_POLICIES; i++) {
            yaml.append("  - {key: a, value: v").append(i).append(", rate_limit: {unit: day, requests_per_unit: 1}}\n");
        }
        EnvoyImport converter = new EnvoyImport(EnvoyImport.Options.WITHOUT_KEYS);
        converter.add("x.yaml", yaml.toString());
        assertThatThrownBy(converter::convert)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("converts to more policies than a file can have");
    }
}
