package dev.weir.definition;

import static dev.weir.definition.PolicyFileTest.faults;
import static dev.weir.definition.QueueFileTest.withQueue;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import dev.weir.fault.FaultsException;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** Checks that the published schema of the policy file accepts and rejects the same documents as the reader. */
class PolicySchemaTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    @ParameterizedTest
    @MethodSource("dev.weir.definition.PolicyDocumentsTest#goodDocuments")
    void the_schema_accepts_valid_files(String document) throws IOException {
        assertThat(schema().validate(tree(document))).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("dev.weir.definition.PolicyDocumentsTest#badDocuments")
    void the_schema_rejects_invalid_files(String document) throws IOException {
        assertThat(faults(document)).isNotEmpty();
        assertThat(schema().validate(tree(document))).isNotEmpty();
    }

    @Test
    void the_schema_has_every_key() throws IOException {
        JsonNode schema = JSON.readTree(schemaFile());

        assertThat(schema.at("/properties").fieldNames()).toIterable().containsExactlyElementsOf(PolicyFile.KEYS);
        assertThat(schema.at("/$defs/policy/properties").fieldNames())
                .toIterable()
                .containsExactlyElementsOf(PolicyReader.KEYS);
        assertThat(schema.at("/$defs/limit/properties").fieldNames())
                .toIterable()
                .containsExactlyElementsOf(LimitReader.KEYS);
        assertThat(schema.at("/$defs/queue/properties").fieldNames())
                .toIterable()
                .containsExactlyElementsOf(QueueReader.KEYS);
        assertThat(schema.at("/$defs/total/properties").fieldNames())
                .toIterable()
                .containsExactlyElementsOf(QueueReader.TOTAL_KEYS);
        assertThat(schema.at("/$defs/share/properties").fieldNames())
                .toIterable()
                .containsExactlyElementsOf(QueueReader.TIER_KEYS);
    }

    @Test
    void the_schema_describes_every_key_and_its_examples_are_valid() throws IOException, FaultsException {
        JsonNode schema = JSON.readTree(schemaFile());

        for (String at : List.of(
                "/properties",
                "/$defs/policy/properties",
                "/$defs/limit/properties",
                "/$defs/queue/properties",
                "/$defs/total/properties",
                "/$defs/share/properties")) {
            schema.at(at).properties().forEach(property -> assertThat(
                            property.getValue().has("description"))
                    .as(property.getKey())
                    .isTrue());
        }
        for (JsonNode example : schema.at("/examples")) {
            assertThat(PolicyFile.read("example", example.toString()))
                    .extracting(contents -> contents.policies().size(), contents -> contents.queues()
                            .size())
                    .containsExactly(4, 1);
        }
        for (JsonNode example : schema.at("/$defs/limit/examples")) {
            assertThat(faults("policies: [{id: a, limits: [" + example + "]}]")).isEmpty();
        }
        for (JsonNode example : schema.at("/$defs/queue/examples")) {
            assertThat(faults("queues: [" + example + "]")).isEmpty();
        }
        Map<String, String> queue = Map.of("id", "id: q", "limit", "limit: 1", "per", "per: 1s", "key", "key: client");
        List<String> needSlots =
                List.of("max-in-flight-per-client", "ack-timeout", "max-duration", "max-attempts", "retry-backoff");
        schema.at("/$defs/queue/properties").properties().forEach(property -> {
            for (JsonNode example : property.getValue().path("examples")) {
                Map<String, String> parts = new TreeMap<>(queue);
                parts.put(property.getKey(), property.getKey() + ": " + example);
                if (needSlots.contains(property.getKey())) {
                    parts.put("max-in-flight", "max-in-flight: 1");
                }
                assertThat(faults("queues: [{" + String.join(", ", parts.values()) + "}]"))
                        .isEmpty();
            }
        });
        Map<String, String> total = Map.of("limit", "limit: 1", "per", "per: 1s");
        schema.at("/$defs/total/properties").properties().forEach(property -> {
            for (JsonNode example : property.getValue().path("examples")) {
                Map<String, String> parts = new TreeMap<>(total);
                parts.put(property.getKey(), property.getKey() + ": " + example);
                assertThat(faults(withQueue(
                                "limit: 1, per: 1s, key: client, total: {" + String.join(", ", parts.values()) + "}")))
                        .isEmpty();
            }
        });
        schema.at("/$defs/share/properties").properties().forEach(property -> {
            for (JsonNode example : property.getValue().path("examples")) {
                assertThat(faults(withQueue("limit: 1, per: 1s, max-in-flight: 1, tiers: {t: {" + property.getKey()
                                + ": " + example + "}}")))
                        .isEmpty();
            }
        });
        schema.at("/$defs/policy/properties").properties().forEach(property -> {
            for (JsonNode example : property.getValue().path("examples")) {
                String id = property.getKey().equals("id") ? "" : "id: a, ";
                assertThat(faults("policies: [{" + id + property.getKey() + ": " + example
                                + ", limits: [{unlimited: true}]}]"))
                        .isEmpty();
            }
        });
    }

    private static JsonSchema schema() throws IOException {
        return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(JSON.readTree(schemaFile()));
    }

    private static byte[] schemaFile() throws IOException {
        try (InputStream in = PolicyFile.class.getResourceAsStream("/policies.schema.json")) {
            return in.readAllBytes();
        }
    }

    private static JsonNode tree(String yaml) {
        return JSON.valueToTree(new Yaml(new SafeConstructor(new LoaderOptions())).load(yaml));
    }
}
