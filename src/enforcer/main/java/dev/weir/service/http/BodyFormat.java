package dev.weir.service.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.definition.YamlText;
import dev.weir.wire.Json;
import io.javalin.http.Context;
import java.io.UncheckedIOException;
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

    private static String mediaType(Context request) {
        return String.valueOf(request.contentType()).split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
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
        String charset = request.req().getCharacterEncoding();
        if (charset != null && !charset.equalsIgnoreCase(StandardCharsets.UTF_8.name())) {
            throw ProblemDetails.of(415, "the body must be in UTF-8").exception();
        }
        return format;
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
