package dev.weir.codec;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import java.io.UncheckedIOException;

/**
 * Jackson's mappers for JSON and YAML. Both reject duplicate keys and text after the value. The JSON is that of
 * {@link LegibleJson}. A reader or writer that needs another setting derives it, as in {@code MAPPER.reader().with(…)}.
 */
public final class Json {

    public static final ObjectMapper MAPPER = strict(LegibleJson.factory());

    public static final ObjectMapper YAML = strict(YAMLFactory.builder()
            .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
            .disable(YAMLGenerator.Feature.SPLIT_LINES)
            .build());

    private Json() {}

    private static ObjectMapper strict(JsonFactory format) {
        return new ObjectMapper(format)
                .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    }

    /** Returns the JSON of a tree, a record or another value that Jackson can write. */
    public static String write(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads JSON that Weir itself wrote; anything else throws UncheckedIOException. */
    public static JsonNode read(String json) {
        try {
            return MAPPER.readTree(json);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }
}
