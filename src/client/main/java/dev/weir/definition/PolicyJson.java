package dev.weir.definition;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.regex.Pattern;

/** The writer of policies and queues without faults as JSON, with their keys in the order of the file. */
final class PolicyJson {

    private static final JsonFactory JSON = new JsonFactory();

    /** Mappings whose keys are names, and the key whose rules apply to each of their values. */
    private static final Map<String, String> NAMES = Map.of("match", "value", "tiers", "tier");

    private static final Pattern BYTES = Pattern.compile("[1-9][0-9]*");

    private PolicyJson() {}

    static String of(YamlTree definition) {
        StringWriter json = new StringWriter();
        try (JsonGenerator generator = JSON.createGenerator(json)) {
            write("", definition, generator);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return json.toString();
    }

    private static void write(String key, YamlTree value, JsonGenerator json) throws IOException {
        switch (value.kind()) {
            case MAPPING -> {
                json.writeStartObject();
                for (Map.Entry<String, YamlTree> field : value.fields().entrySet()) {
                    json.writeFieldName(field.getKey());
                    String fieldKey = NAMES.getOrDefault(key, field.getKey());
                    write(fieldKey, field.getValue(), json);
                }
                json.writeEndObject();
            }
            case LIST -> {
                json.writeStartArray();
                for (YamlTree item : value.items()) {
                    write(key, item, json);
                }
                json.writeEndArray();
            }
            default -> writeScalar(key, value.text(), json);
        }
    }

    private static void writeScalar(String key, String text, JsonGenerator json) throws IOException {
        switch (key) {
            case "priority",
                    "limit",
                    "burst",
                    "capacity",
                    "weight",
                    "deny-status",
                    "max-in-flight",
                    "max-in-flight-per-client",
                    "max-attempts" -> json.writeNumber(Long.parseLong(text.replace("_", "")));
            case "unlimited", "strict", "count-denied", "allow-override" -> json.writeBoolean(text.equals("true"));
            case "max-size" -> {
                if (BYTES.matcher(text).matches()) {
                    json.writeNumber(Long.parseLong(text));
                } else {
                    json.writeString(text);
                }
            }
            default -> json.writeString(text);
        }
    }
}
