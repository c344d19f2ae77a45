package dev.weir.service;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.weir.wire.Json;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * The description of the service: {@code openapi.yaml}, together with the schemas of {@code policies.schema.json} that
 * it refers to, so that it can be used by itself.
 */
final class OpenApi {

    private static final ObjectWriter YAML_FOR_PEOPLE = Yaml.MAPPER
            .writer()
            .with(YAMLGenerator.Feature.MINIMIZE_QUOTES)
            .with(YAMLGenerator.Feature.ALWAYS_QUOTE_NUMBERS_AS_STRINGS)
            .with(YAMLGenerator.Feature.LITERAL_BLOCK_STYLE);

    private static final String REFERENCE = "$ref";
    private static final String[] OF_FILE = {"policies.schema.json#/$defs/", "#/$defs/"};
    private static final String OF_DOCUMENT = "#/components/schemas/";

    private final byte[] json;
    private final byte[] yaml;

    OpenApi() {
        try {
            ObjectNode document = (ObjectNode) read(Yaml.MAPPER, "/openapi.yaml");
            JsonNode definitions = read(Json.MAPPER, "/policies.schema.json").get("$defs");
            ((ObjectNode) document.at("/components/schemas")).setAll((ObjectNode) definitions);
            redirect(document);
            json = Json.MAPPER.writerWithDefaultPrettyPrinter().writeValueAsBytes(document);
            yaml = YAML_FOR_PEOPLE.writeValueAsBytes(document);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void json(Context request) {
        request.contentType(BodyFormat.JSON.contentType()).result(json);
    }

    void yaml(Context request) {
        request.contentType(BodyFormat.YAML.contentType()).result(yaml);
    }

    /** Lets all references to schemas of the policy file point into this document. */
    private static void redirect(JsonNode node) {
        if (node instanceof ObjectNode object && object.path(REFERENCE).isTextual()) {
            String target = object.get(REFERENCE).textValue();
            for (String start : OF_FILE) {
                if (target.startsWith(start)) {
                    object.set(REFERENCE, TextNode.valueOf(OF_DOCUMENT + target.substring(start.length())));
                }
            }
        }
        node.forEach(OpenApi::redirect);
    }

    private static JsonNode read(ObjectMapper mapper, String resource) throws IOException {
        try (InputStream in = OpenApi.class.getResourceAsStream(resource)) {
            return mapper.readTree(in);
        }
    }
}
