package dev.weir.definition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFileText.Entry;
import dev.weir.fault.SafeText;
import dev.weir.testing.Effort;
import dev.weir.testing.RandomPolicyFiles;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PolicyFileTextTest {

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
