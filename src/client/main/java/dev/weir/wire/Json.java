package dev.weir.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;

/**
 * Jackson's mapper for JSON, which rejects duplicate keys and text after the value. The JSON is that of
 * {@link PrintableJson}. A reader or writer that needs another setting derives it, as in {@code
 * MAPPER.reader().with(…)}.
 */
public final class Json {

    public static final ObjectMapper MAPPER = strict(PrintableJson.factory());

    private Json() {}

    /** A mapper for a format that rejects duplicate keys and text after the value. */
    public static ObjectMapper strict(JsonFactory format) {
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
