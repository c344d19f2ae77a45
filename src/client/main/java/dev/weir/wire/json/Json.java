package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;

/**
 * Jackson's mapper for JSON. It rejects duplicate keys and text after the value, and escapes as {@link PrintableJson}
 * does. To change another setting, derive a reader or writer: {@code MAPPER.reader().with(…)}.
 */
public final class Json {

    /** The mapper. Thread-safe; do not reconfigure it. */
    public static final ObjectMapper MAPPER = strict(PrintableJson.factory());

    /** A place in one of Jackson's messages. */
    private static final Pattern PLACE = Pattern.compile("\\[Source: [^;\\]]*; line: (-?[0-9]+), column: (-?[0-9]+)]");

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

    /**
     * Returns what is wrong with JSON that cannot be parsed, with the line and column, and without the class names and
     * the note on a redacted source that Jackson's messages have.
     *
     * @param failure what Jackson threw
     * @return the message
     */
    public static String message(JsonProcessingException failure) {
        String message =
                PLACE.matcher(String.valueOf(failure.getOriginalMessage())).replaceAll("line $1, column $2");
        JsonLocation place = failure.getLocation();
        return place == null || place.getLineNr() < 1
                ? message
                : message + " (line " + place.getLineNr() + ", column " + place.getColumnNr() + ")";
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
