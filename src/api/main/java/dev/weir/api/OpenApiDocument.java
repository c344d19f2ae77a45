package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.YamlMapper;
import dev.weir.wire.json.Json;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * The description of the service: {@code openapi.yaml} with the schemas of {@code policies.schema.json} that it refers
 * to, so that the result is self-contained.
 */
final class OpenApiDocument {

    private static final ObjectWriter YAML_WRITER = YamlMapper.MAPPER
            .writer()
            .with(YAMLGenerator.Feature.MINIMIZE_QUOTES)
            .with(YAMLGenerator.Feature.ALWAYS_QUOTE_NUMBERS_AS_STRINGS)
            .with(YAMLGenerator.Feature.LITERAL_BLOCK_STYLE);

    private static final String REFERENCE = "$ref";
    private static final String[] FILE_REFERENCE_PREFIXES = {"policies.schema.json#/$defs/", "#/$defs/"};
    private static final String DOCUMENT_REFERENCE_PREFIX = "#/components/schemas/";

    private final byte[] json;
    private final byte[] yaml;

    OpenApiDocument() {
        try {
            ObjectNode document = (ObjectNode) read(YamlMapper.MAPPER, "/openapi.yaml");
            JsonNode definitions = read(Json.MAPPER, "/policies.schema.json").get("$defs");
            ((ObjectNode) document.at("/components/schemas")).setAll((ObjectNode) definitions);
            redirect(document);
            json = Json.MAPPER.writerWithDefaultPrettyPrinter().writeValueAsBytes(document);
            yaml = YAML_WRITER.writeValueAsBytes(document);
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

    /** Changes all references to schemas of the policy file into references within this document. */
    private static void redirect(JsonNode node) {
        if (node instanceof ObjectNode object && object.path(REFERENCE).isTextual()) {
            String target = object.get(REFERENCE).textValue();
            for (String start : FILE_REFERENCE_PREFIXES) {
                if (target.startsWith(start)) {
                    object.set(
                            REFERENCE, TextNode.valueOf(DOCUMENT_REFERENCE_PREFIX + target.substring(start.length())));
                }
            }
        }
        node.forEach(OpenApiDocument::redirect);
    }

    private static JsonNode read(ObjectMapper mapper, String resource) throws IOException {
        try (InputStream in = OpenApiDocument.class.getResourceAsStream(resource)) {
            return mapper.readTree(in);
        }
    }
}
