package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion.VersionFlag;
import com.networknt.schema.ValidationMessage;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The OpenAPI description that the service returns. Responses are checked against it. */
final class ApiDocument {

    static final ObjectMapper JSON = new ObjectMapper();
    static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

    private static final Set<String> METHODS = Set.of("get", "put", "post", "delete");
    private static final JsonSchemaFactory SCHEMAS = JsonSchemaFactory.getInstance(VersionFlag.V202012);

    private final JsonNode document;
    private final Map<JsonNode, JsonSchema> schemas = Collections.synchronizedMap(new IdentityHashMap<>());

    ApiDocument(JsonNode document) {
        this.document = document;
    }

    JsonNode tree() {
        return document;
    }

    /** Returns all operations, such as {@code GET /v1/policies}. */
    Set<String> operations() {
        Set<String> operations = new TreeSet<>();
        document.get("paths")
                .properties()
                .forEach(path -> path.getValue().fieldNames().forEachRemaining(method -> {
                    if (METHODS.contains(method)) {
                        operations.add(method.toUpperCase(Locale.ROOT) + " " + path.getKey());
                    }
                }));
        return operations;
    }

    List<JsonNode> references() {
        return document.findValues("$ref");
    }

    /** Returns the part of the document that a reference points to, or the node itself if it is not a reference. */
    JsonNode resolve(JsonNode node) {
        return node.has("$ref") ? document.at(node.get("$ref").textValue().substring(1)) : node;
    }

    /**
     * Checks a response against the description of its operation. If there is no such operation, it must be an error.
     */
    void check(Reply reply) throws JsonProcessingException {
        String path = template(reply.path().replaceFirst("\\?.*", ""));
        JsonNode operation = document.at("/paths")
                .path(path)
                .path(reply.method().replace("HEAD", "GET").toLowerCase(Locale.ROOT));
        if (operation.isMissingNode() || reply.status() == 414 || reply.status() == 431) {
            assertThat(reply.status()).as(reply.toString()).isIn(401, 403, 404, 405, 414, 421, 431);
            assertThat(reply.contentType()).isEqualTo("application/problem+json");
            if (!reply.method().equals("HEAD")) {
                validate(document.at("/components/schemas/Problem"), JSON.readTree(reply.text()), reply);
            }
            return;
        }
        JsonNode response = resolve(operation.get("responses").path(String.valueOf(reply.status())));
        assertThat(response.isMissingNode()).as("undocumented: " + reply).isFalse();
        for (Map.Entry<String, JsonNode> header : response.path("headers").properties()) {
            JsonNode description = resolve(header.getValue());
            String value = reply.headers().get(header.getKey().toLowerCase(Locale.ROOT));
            if (description.path("required").asBoolean()) {
                assertThat(value).as(header.getKey() + " of " + reply).isNotNull();
            }
            if (value != null) {
                validate(description.get("schema"), JSON.getNodeFactory().textNode(value), reply);
            }
        }
        if (!response.has("content")) {
            assertThat(reply.text()).isEmpty();
            return;
        }
        JsonNode content = response.get("content").path(String.valueOf(reply.contentType()));
        assertThat(content.isMissingNode()).as("undocumented content: " + reply).isFalse();
        if (reply.method().equals("HEAD")) {
            return;
        }
        if (reply.contentType().endsWith("ndjson")) {
            for (String line : reply.text().lines().toList()) {
                validate(content.get("schema"), JSON.readTree(line), reply);
            }
            return;
        }
        ObjectMapper mapper = reply.contentType().endsWith("json") ? JSON : YAML;
        validate(content.get("schema"), mapper.readTree(reply.text()), reply);
    }

    private String template(String path) {
        for (String known : documentPaths()) {
            if (path.matches(known.replaceAll("\\{[a-z]+}", "[^/]+"))) {
                return known;
            }
        }
        return path;
    }

    private List<String> documentPaths() {
        List<String> paths = new ArrayList<>();
        document.get("paths").fieldNames().forEachRemaining(paths::add);
        return paths;
    }

    private JsonSchema standingAlone(JsonNode schema) {
        ObjectNode root = JSON.createObjectNode();
        root.set("allOf", JSON.createArrayNode().add(schema));
        root.set("components", document.get("components"));
        return SCHEMAS.getSchema(root);
    }

    private void validate(JsonNode schema, JsonNode value, Reply reply) {
        Set<ValidationMessage> faults =
                schemas.computeIfAbsent(schema, this::standingAlone).validate(value);
        assertThat(faults).as(reply.toString()).isEmpty();
    }
}
