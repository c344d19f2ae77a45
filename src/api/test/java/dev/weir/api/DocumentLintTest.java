package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion.VersionFlag;
import dev.weir.config.WeirConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Rules for the served API description. {@link LintersTest} runs linters with further ones. */
class DocumentLintTest {

    /** Keys whose values are data, not parts of the description. */
    private static final Set<String> VALUES = Set.of("examples", "example", "default", "enum", "const");

    private static WeirService service;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        service = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder()
                        .service(WeirConfig.DEFAULTS.service().withPort(0))
                        .build(),
                Map.of());
        caller = Caller.of(service.port(), null);
    }

    @AfterAll
    static void stop() {
        service.close();
    }

    @Test
    void every_operation_has_a_description_and_a_response_for_success() {
        assertThat(document().at("/info/contact").isObject()).isTrue();
        int[] operations = {0};
        document().get("paths").properties().forEach(path -> path.getValue().properties().stream()
                .filter(entry -> entry.getValue().has("responses"))
                .forEach(operation -> {
                    operations[0]++;
                    String name = operation.getKey() + " " + path.getKey();
                    assertThat(operation.getValue().path("description").asText())
                            .as(name)
                            .isNotBlank();
                    assertThat(operation.getValue().get("responses").fieldNames())
                            .toIterable()
                            .as(name)
                            .anyMatch(status -> status.startsWith("2") || status.equals("default"));
                }));
        assertThat(operations[0]).isEqualTo(caller.document().operations().size());
    }

    @Test
    void every_array_has_items() {
        List<String> without = new ArrayList<>();
        visit(document(), "", (at, node) -> {
            if (types(node).contains("array") && !node.has("items")) {
                without.add(at);
            }
        });
        assertThat(without).isEmpty();
    }

    @Test
    void required_properties_are_defined_beside_them() {
        List<String> undefined = new ArrayList<>();
        visit(document(), "", (at, node) -> {
            if (node.path("required").isArray()) {
                // a branch may require properties that the schema around it defines
                JsonNode around = document().at(at.replaceFirst("/(anyOf/[0-9]+|not)$", ""));
                for (JsonNode name : node.get("required")) {
                    if (!node.path("properties").has(name.textValue())
                            && !around.path("properties").has(name.textValue())) {
                        undefined.add(at + ": " + name.textValue());
                    }
                }
            }
        });
        assertThat(undefined).isEmpty();
    }

    @Test
    void a_schema_has_one_type_or_one_and_null() {
        List<String> several = new ArrayList<>();
        visit(document(), "", (at, node) -> {
            if (types(node).stream().filter(type -> !type.equals("null")).count() > 1) {
                several.add(at);
            }
        });
        assertThat(several).isEmpty();
    }

    @Test
    void examples_are_valid() {
        List<String> invalid = new ArrayList<>();
        int[] examples = {0};
        visit(document(), "", (at, node) -> {
            for (JsonNode example : node.path("examples")) {
                examples[0]++;
                schema(node).validate(example).forEach(fault -> invalid.add(at + ": " + fault));
            }
            if (node.has("example")) {
                examples[0]++;
                schema(node.get("schema"))
                        .validate(node.get("example"))
                        .forEach(fault -> invalid.add(at + ": " + fault));
            }
        });
        assertThat(invalid).isEmpty();
        assertThat(examples[0]).isGreaterThan(40);
    }

    private static JsonNode document() {
        return caller.document().tree();
    }

    /**
     * Calls the action with each object of the description and its JSON pointer, except for example and default values.
     */
    private static void visit(JsonNode node, String at, BiConsumer<String, JsonNode> action) {
        if (node.isObject()) {
            action.accept(at, node);
            node.properties().forEach(entry -> {
                if (!VALUES.contains(entry.getKey())) {
                    visit(entry.getValue(), at + "/" + entry.getKey(), action);
                }
            });
        } else {
            for (int i = 0; i < node.size(); i++) {
                visit(node.get(i), at + "/" + i, action);
            }
        }
    }

    /** Returns no types for an object that has a property named "type". */
    private static List<String> types(JsonNode node) {
        JsonNode type = node.path("type");
        if (type.isTextual()) {
            return List.of(type.textValue());
        }
        List<String> types = new ArrayList<>();
        if (type.isArray()) {
            type.forEach(one -> types.add(one.textValue()));
        }
        return types;
    }

    private static JsonSchema schema(JsonNode schema) {
        ObjectNode root = ApiDocument.JSON.createObjectNode();
        root.putArray("allOf").add(schema);
        root.set("components", document().get("components"));
        return JsonSchemaFactory.getInstance(VersionFlag.V202012).getSchema(root);
    }
}
