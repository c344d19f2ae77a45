package dev.weir.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;

/**
 * Jackson's mapper for JSON. It rejects duplicate keys and text after the value, and escapes as {@link PrintableJson}
 * does. To change another setting, derive a reader or writer: {@code MAPPER.reader().with(…)}.
 */
public final class Json {

    /** The mapper. Thread-safe; do not reconfigure it. */
    public static final ObjectMapper MAPPER = strict(PrintableJson.factory());

    private Json() {}

    /**
     * Returns a mapper for a format that rejects duplicate keys and text after the value.
     *
     * @param format the format
     * @return a new mapper
     */
    public static ObjectMapper strict(JsonFactory format) {
        return new ObjectMapper(format)
                .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    }

    /**
     * Returns the JSON of a value.
     *
     * @param value a tree, a record, or another value that Jackson can write
     * @return the JSON, on one line
     * @throws UncheckedIOException if Jackson cannot write the value
     */
    public static String write(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Parses JSON that Weir wrote.
     *
     * @param json the JSON
     * @return its tree
     * @throws UncheckedIOException if the text is not valid JSON
     */
    public static JsonNode read(String json) {
        try {
            return MAPPER.readTree(json);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether each surrogate of a text is one of a pair, so that the text can be written in UTF-8. */
    static boolean isWellFormed(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                if (i + 1 == text.length() || !Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1))) {
                    return false;
                }
                i++;
            }
        }
        return true;
    }
}
