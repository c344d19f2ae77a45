package dev.weir.server.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.definition.YamlText;
import dev.weir.wire.json.Json;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import java.io.UncheckedIOException;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The formats of request and response bodies. */
public enum BodyFormat {
    JSON("application/json", Json.MAPPER),
    YAML("application/yaml", YamlMapper.MAPPER);

    /** The media types of each format. {@code application/x-yaml} and {@code text/yaml} were in use before RFC 9512. */
    private static final Map<String, BodyFormat> NAMES = Map.of(
            "application/json", JSON,
            "application/yaml", YAML,
            "application/x-yaml", YAML,
            "text/yaml", YAML);

    /** The media type of one JSON object per line. */
    public static final String NDJSON = "application/x-ndjson";

    private static final Set<String> NDJSON_NAMES = Set.of(NDJSON, "application/ndjson", "application/jsonl");

    private static final Set<HandlerType> WITHOUT_BODY = Set.of(HandlerType.GET, HandlerType.HEAD, HandlerType.DELETE);

    private final String contentType;
    private final ObjectMapper mapper;

    BodyFormat(String contentType, ObjectMapper mapper) {
        this.contentType = contentType;
        this.mapper = mapper;
    }

    public String contentType() {
        return contentType;
    }

    byte[] write(JsonNode value) {
        try {
            return mapper.writeValueAsBytes(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Parses a text.
     *
     * @throws JsonProcessingException if the text is not in this format, or has a duplicate key
     * @throws IllegalArgumentException if parsing would take too long; the message continues a sentence whose subject
     *     is the text
     */
    public JsonNode read(String text) throws JsonProcessingException {
        if (this == YAML) {
            YamlText.requireReadable(text);
        }
        return mapper.readTree(text);
    }

    /**
     * Returns the format that the {@code Accept} header prefers (RFC 9110, section 12.5.1); JSON if there is
     * no preference.
     *
     * @throws ProblemDetails.ProblemException with 406 if it accepts neither
     */
    public static BodyFormat ofAcceptHeader(Context request) {
        String header = request.header("Accept");
        if (header == null || header.isBlank()) {
            return JSON;
        }
        BodyFormat best = null;
        double bestQuality = 0;
        for (BodyFormat format : List.of(JSON, YAML)) {
            double quality = quality(format, header);
            if (quality > bestQuality) {
                best = format;
                bestQuality = quality;
            }
        }
        if (best == null) {
            throw ProblemDetails.of(406, "Accept must permit application/json or application/yaml")
                    .exception();
        }
        return best;
    }

    /** Returns whether the request body has one JSON object per line. */
    public static boolean isNdjson(Context request) {
        return NDJSON_NAMES.contains(mediaType(request));
    }

    /** Returns the header as sent: Jetty's own methods fail if it names a charset that does not exist. */
    private static String contentType(Context request) {
        return String.valueOf(request.header("Content-Type"));
    }

    private static String mediaType(Context request) {
        return contentType(request).split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the format of the request body.
     *
     * @throws ProblemDetails.ProblemException with 415 if it is neither
     */
    public static BodyFormat ofContentType(Context request) {
        BodyFormat format = NAMES.get(mediaType(request));
        if (format == null) {
            throw ProblemDetails.of(
                            415, "Content-Type must be application/json or application/yaml; with curl, use --json")
                    .exception();
        }
        return format;
    }

    /**
     * Checks that the body, if there is one, is in UTF-8, and lets the query be decoded as UTF-8 whatever the
     * {@code Content-Type} says. Applies to all requests.
     *
     * @throws ProblemDetails.ProblemException with 415 if {@code Content-Type} names another charset
     */
    public static void requireUtf8(Context request) {
        if (!WITHOUT_BODY.contains(request.method()) && !isUtf8(charset(request))) {
            throw ProblemDetails.of(415, "the charset of Content-Type must be UTF-8, or be left out")
                    .exception();
        }
        try {
            request.req().setCharacterEncoding(StandardCharsets.UTF_8.name());
        } catch (UnsupportedEncodingException e) {
            throw new UncheckedIOException(e); // cannot happen: all platforms have UTF-8
        }
    }

    /** Returns the parameter of the {@code Content-Type} (RFC 9110, section 8.3.2), empty if there is none. */
    private static String charset(Context request) {
        String[] parts = contentType(request).split(";", -1);
        for (int i = 1; i < parts.length; i++) {
            String[] parameter = parts[i].split("=", 2);
            if (parameter.length == 2 && parameter[0].strip().equalsIgnoreCase("charset")) {
                return parameter[1].strip().replace("\"", "");
            }
        }
        return "";
    }

    private static boolean isUtf8(String charset) {
        try {
            return charset.isEmpty() || Charset.forName(charset).equals(StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) { // there is no such charset
            return false;
        }
    }

    /** Returns the quality of a format, from 0 to 1. The most specific range that matches it counts. */
    private static double quality(BodyFormat format, String accept) {
        double quality = 0;
        int exactness = -1;
        for (String element : accept.split(",", -1)) {
            String[] parts = element.split(";", -1);
            String range = parts[0].strip().toLowerCase(Locale.ROOT);
            int exact =
                    NAMES.get(range) == format ? 2 : range.equals("application/*") ? 1 : range.equals("*/*") ? 0 : -1;
            if (exact > exactness) {
                exactness = exact;
                quality = weight(parts);
            }
        }
        return quality;
    }

    private static double weight(String[] parts) {
        for (int i = 1; i < parts.length; i++) {
            String parameter = parts[i].strip().toLowerCase(Locale.ROOT);
            if (parameter.startsWith("q=")) {
                try {
                    return Math.min(1, Math.max(0, Double.parseDouble(parameter.substring(2))));
                } catch (NumberFormatException e) {
                    return 0;
                }
            }
        }
        return 1;
    }
}
