package dev.weir.definition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile.Definition;
import dev.weir.fault.FaultsException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DefinitionDiffTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            # before                                        | after                                         | differences
            unlimited: true                                 | unlimited: true                               | ``
            algorithm: gcra, limit: 5, per: 1m              | per: 1m, limit: 5, algorithm: gcra            | ``
            algorithm: gcra, limit: 5, per: 1m              | algorithm: gcra, limit: 10, per: 1m           | limits[0].limit: 5 -> 10
            algorithm: gcra, limit: 1_000, per: 60s         | algorithm: gcra, limit: 1000, per: 1m         | limits[0].per: 60s -> 1m
            algorithm: gcra, limit: 5, per: 1m              | algorithm: gcra, limit: 5, per: 1m, burst: 5  | limits[0].burst: null -> 5
            algorithm: gcra, limit: 5, per: 1m, burst: 5    | algorithm: gcra, limit: 5, per: 1m            | limits[0].burst: 5 -> null
            algorithm: gcra, limit: 5, per: 1m              | unlimited: true                               | limits[0].unlimited: null -> true; limits[0].algorithm: gcra -> null; limits[0].limit: 5 -> null; limits[0].per: 1m -> null
            """)
    void differences_of_one_limit_are_listed(String before, String after, String differences) throws FaultsException {
        assertThat(diff("limits: [{" + before + "}]", "limits: [{" + after + "}]"))
                .isEqualTo(differences);
    }

    @Test
    void a_limit_is_compared_with_the_one_that_it_continues() throws FaultsException {
        String gcra = "{algorithm: gcra, limit: 5, per: 1m}";
        String log = "{algorithm: sliding-window-log, limit: 5, per: 1m}";
        assertThat(diff("limits: [" + gcra + ", " + log + "]", "limits: [" + log + ", " + gcra + "]"))
                .isEmpty();
        assertThat(diff("limits: [" + gcra + "]", "limits: [" + log + ", " + gcra + "]"))
                .isEqualTo("limits[0]: null -> " + log);
        assertThat(diff("limits: [" + gcra + ", " + log + "]", "limits: [" + log + "]"))
                .isEqualTo("limits[0]: " + gcra + " -> null");
        assertThat(diff("limits: [" + gcra + ", " + log + "]", "limits: [" + log.replace("5", "6") + "]"))
                .isEqualTo("limits[0].limit: 5 -> 6; limits[0]: " + gcra + " -> null");
        assertThat(diff("limits: [" + gcra + "]", "limits: [" + log + "]"))
                .isEqualTo("limits[0].algorithm: gcra -> sliding-window-log");
    }

    @Test
    void other_parts_of_a_policy_are_compared_by_key() throws FaultsException {
        assertThat(diff(
                        "match: {tier: free, 'a b': x}, max-size: 64KiB, limits: [{unlimited: true}]",
                        "priority: 3, match: {tier: [free, gold], region: \"eu, de\"}, key: [client, ip],"
                                + " limits: [{unlimited: true}]"))
                .isEqualTo("priority: null -> 3; match.tier: free -> [free, gold]; match.region: null -> \"eu, de\";"
                        + " match['a b']: x -> null; key: null -> [client, ip]; max-size: 64KiB -> null");
        assertThat(diff("max-size: 65536, queue: sms", "max-size: 64KiB, queue: sms"))
                .isEqualTo("max-size: 65536 -> 64KiB");
    }

    @Test
    void an_ambiguous_value_is_printed_as_a_json_string() throws FaultsException {
        assertThat(diff("match: {a: \"\"}, queue: q", "match: {a: \"x -> y\\u009b\\n\"}, queue: q"))
                .isEqualTo("match.a: \"\" -> \"x -> y\\u009B\\n\"");
        assertThat(diff("match: {a: Zürich}, queue: q", "match: {a: \"/a/**\"}, queue: q"))
                .isEqualTo("match.a: Zürich -> /a/**");
    }

    @Test
    void a_queue_is_compared_by_its_keys() throws FaultsException {
        String before = queue("limit: 100, per: 1s, tiers: {gold: {weight: 4}, silver: {}, free: {priority: -1}}");
        String after = queue("limit: 200, per: 1s, max-wait: 30s, tiers: {free: {weight: 2}, gold: {weight: 4}}");
        assertThat(reported(before, after))
                .isEqualTo("limit: 100 -> 200; max-wait: null -> 30s; tiers.free.weight: null -> 2;"
                        + " tiers.free.priority: -1 -> null; tiers.silver: {} -> null");
    }

    @Test
    void unreadable_limits_are_compared_by_position() {
        assertThat(reported(
                        "{\"limits\":[{\"algorithm\":\"x\",\"n\":1}]}", "{\"limits\":[{\"algorithm\":\"x\",\"n\":2}]}"))
                .isEqualTo("limits[0].n: 1 -> 2");
        assertThat(reported("{\"limits\":[{\"algorithm\":\"x\"}]}", "{\"limits\":[{},{}]}"))
                .isEqualTo("limits[0].algorithm: x -> null; limits[1]: null -> {}");
    }

    private static String diff(String before, String after) throws FaultsException {
        return reported(policy(before), policy(after));
    }

    private static String reported(String before, String after) {
        List<String> reported = DefinitionDiff.of(before, after).stream()
                .map(difference -> difference.path() + ": " + difference.before() + " -> " + difference.after())
                .toList();
        return String.join("; ", reported);
    }

    private static String policy(String body) throws FaultsException {
        return PolicyFile.read(
                        "f",
                        "policies: [{id: a, " + body + "}]\nqueues:\n- {id: q, limit: 1, per: 1s}\n"
                                + "- {id: sms, limit: 1, per: 1s}")
                .policies()
                .get(0)
                .json();
    }

    private static String queue(String body) throws FaultsException {
        Definition queue =
                PolicyFile.read("f", "queues: [{id: q, " + body + "}]").queues().get(0);
        return queue.json();
    }
}
