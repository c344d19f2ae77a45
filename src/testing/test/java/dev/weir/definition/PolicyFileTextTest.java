package dev.weir.definition;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import dev.weir.definition.PolicyFileText.Entry;
import dev.weir.fault.SafeText;
import dev.weir.policy.RequestMatcher;
import dev.weir.policy.RequestRules;
import dev.weir.testing.Effort;
import dev.weir.testing.RandomPolicyFiles;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PolicyFileTextTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<String> COMMENTS = List.of("version 1 by \u202e\nme: # 'x'", "and more");

    private static List<Entry> entries(List<? extends PolicyFile.Definition> definitions) {
        return definitions.stream().map(one -> new Entry(one.json(), COMMENTS)).toList();
    }

    @Test
    void what_is_written_is_read_as_the_same_definitions() throws Exception {
        for (int seed = 0; seed < Effort.times(300); seed++) {
            String file = new RandomPolicyFiles(new Random(seed)).next(1 + seed % 12, 1 + seed % 3);
            PolicyFile.Contents contents = PolicyFile.read("seed " + seed, file);
            List<Entry> policies = entries(contents.policies());
            List<Entry> queues = entries(contents.queues());
            String yaml = PolicyFileText.yaml(policies, queues);
            String json = PolicyFileText.json(policies, queues);
            assertThat(PolicyFile.read("seed " + seed, yaml)).as(yaml).isEqualTo(contents);
            assertThat(PolicyFile.read("seed " + seed, json)).as(json).isEqualTo(contents);
            assertThat(json).isEqualTo(SafeText.of(json));
            assertThat(yaml.lines()).allMatch(line -> line.equals(SafeText.of(line)));
        }
    }

    @Test
    void the_schema_accepts_what_the_reader_accepts() throws IOException {
        JsonSchema schema;
        try (InputStream in = PolicyFile.class.getResourceAsStream("/policies.schema.json")) {
            schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                    .getSchema(in);
        }
        for (int seed = 0; seed < Effort.times(300); seed++) {
            String file = new RandomPolicyFiles(new Random(seed)).next(1 + seed % 12, 1 + seed % 3);
            assertThat(schema.validate(JSON.readTree(file))).as(file).isEmpty();
        }
    }

    @Test
    void the_longest_names_and_patterns_are_read_again() throws Exception {
        String name = "\u00ad".repeat(RequestMatcher.MAX_FIELD_LENGTH);
        ObjectNode policy = JSON.createObjectNode().put("id", "p");
        policy.putObject("match").put(name, "a");
        ArrayNode patterns = policy.withObject("match").putArray("field");
        for (int i = 0; i < RequestMatcher.MAX_PATTERNS; i++) {
            patterns.add("\u00ad".repeat(200) + i);
        }
        ArrayNode key = policy.putArray("key").add("client").add(name);
        policy.putArray("limits")
                .addObject()
                .put("algorithm", "gcra")
                .put("limit", 1)
                .put("per", "1s");
        ObjectNode queue =
                JSON.createObjectNode().put("id", "q").put("limit", 1).put("per", "1s");
        queue.set("key", key);
        queue.putObject("tiers").putObject("\u00ad".repeat(RequestRules.MAX_NAME_LENGTH));
        PolicyFile.Contents contents =
                PolicyFile.read("file", "{\"policies\":[" + policy + "],\"queues\":[" + queue + "]}");
        List<Entry> policies = entries(contents.policies());
        List<Entry> queues = entries(contents.queues());
        assertThat(PolicyFile.read("yaml", PolicyFileText.yaml(policies, queues)))
                .isEqualTo(contents);
        assertThat(PolicyFile.read("json", PolicyFileText.json(policies, queues)))
                .isEqualTo(contents);
    }

    @Test
    void a_file_with_too_many_bytes_or_definitions_is_named() {
        String longest = "\u00e9".repeat(PolicyFileText.MAX_LENGTH / 2);
        assertThat(PolicyFileText.excess(longest, PolicyFile.MAX_POLICIES, PolicyFile.MAX_QUEUES))
                .isEmpty();
        assertThat(PolicyFileText.excess(longest + "a", 1, 1))
                .hasValue("the file has 16777217 bytes, and a policy file can have 16777216");
        assertThat(PolicyFileText.excess("", PolicyFile.MAX_POLICIES + 1, 1))
                .hasValue("the file has 100001 policies, and a policy file can have 100000");
        assertThat(PolicyFileText.excess("", 1, PolicyFile.MAX_QUEUES + 1))
                .hasValue("the file has 10001 queues, and a policy file can have 10000");
    }

    @Test
    void a_file_looks_as_if_a_person_had_written_it() {
        String policy = "{\"id\":\"free\",\"match\":{\"tier\":[\"free\",\"NO\"],\"endpoint\":\"/a/**\"},"
                + "\"limits\":[{\"algorithm\":\"gcra\",\"limit\":5,\"per\":\"1m\"},{\"unlimited\":true}],\"max-size\":1500}";
        String queue = "{\"id\":\"sms\",\"limit\":5,\"per\":\"1s\",\"tiers\":{\"gold\":{\"priority\":1},\""
                + "x".repeat(90) + "\":{\"weight\":3}}}";
        assertThat(PolicyFileText.yaml(
                        List.of(new Entry(policy, List.of("version 2"))), List.of(new Entry(queue, List.of()))))
                .isEqualTo("""
                        policies:
                          # version 2
                          - id: free
                            match: {tier: [free, "NO"], endpoint: "/a/**"}
                            limits:
                              - {algorithm: gcra, limit: 5, per: 1m}
                              - {unlimited: true}
                            max-size: 1500
                        queues:
                          - id: sms
                            limit: 5
                            per: 1s
                            tiers:
                              gold: {priority: 1}
                              %s: {weight: 3}
                        """.formatted("x".repeat(90)));
        assertThat(PolicyFileText.yaml(List.of(), List.of())).isEqualTo("policies: []\n");
    }
}
