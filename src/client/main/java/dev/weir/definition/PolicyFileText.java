package dev.weir.definition;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.fault.Faults;
import dev.weir.fault.SafeText;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The writer of policy files. {@link PolicyFile} reads what it writes, and the definitions are the same: {@link
 * PolicyFile.Definition#json} returns the JSON from which they were written.
 */
public final class PolicyFileText {

    /** The maximum length of a policy file, in bytes of UTF-8. */
    public static final int MAX_LENGTH = DocumentReader.MAX_LENGTH;

    /** A longer mapping or list is written on several lines, so that people can read it. */
    private static final int MAX_LINE = 100;

    /**
     * YAML readers accept a longer key only after a question mark: with its escapes, it has more than 1,024 characters.
     */
    private static final int MAX_SIMPLE_KEY = 1_000;

    /** Words and durations, which no YAML reader takes for another type. */
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z][A-Za-z0-9._-]*|[0-9]+(ms|s|m|h|d)");

    /** Words that YAML 1.1 reads as another type. */
    private static final Set<String> RESERVED = Set.of("null", "true", "false", "yes", "no", "on", "off", "y", "n");

    private static final JsonFactory JSON = new JsonFactory();

    private PolicyFileText() {}

    /**
     * A policy or queue to write.
     *
     * @param json the definition, as {@link PolicyFile.Definition#json} returns it
     * @param comments the lines of the comment above it, without {@code #}; empty for none
     */
    public record Entry(String json, List<String> comments) {

        /**
         * Copies the list.
         *
         * @param json the definition, as {@link PolicyFile.Definition#json} returns it
         * @param comments the lines of the comment above it, without {@code #}; empty for none
         */
        public Entry {
            comments = List.copyOf(comments);
        }
    }

    /**
     * Returns a policy file as JSON on one line, without comments. It is safe to print.
     *
     * @param policies the policies
     * @param queues the queues
     * @return an object with the lists {@code policies} and {@code queues}
     */
    public static String json(List<Entry> policies, List<Entry> queues) {
        return SafeText.of("{\"policies\":" + jsonList(policies) + ",\"queues\":" + jsonList(queues) + "}");
    }

    private static String jsonList(List<Entry> entries) {
        return entries.stream().map(Entry::json).collect(Collectors.joining(",", "[", "]"));
    }

    /**
     * Returns a policy file as YAML. It is safe to print: characters that are not legible are escaped.
     *
     * @param policies the policies
     * @param queues the queues; if there are none, the file does not have the key
     * @return the text of the file
     */
    public static String yaml(List<Entry> policies, List<Entry> queues) {
        StringBuilder yaml = new StringBuilder();
        if (!policies.isEmpty() || queues.isEmpty()) {
            write("policies", policies, yaml);
        }
        if (!queues.isEmpty()) {
            write("queues", queues, yaml);
        }
        return yaml.toString();
    }

    /**
     * Returns why {@link PolicyFile} cannot read a file of valid definitions: it is too long, or has too many of them.
     *
     * @param text the text of the file
     * @param policies the number of policies in it
     * @param queues the number of queues in it
     * @return what it has and what a policy file can have; empty if it can be read
     */
    public static Optional<String> excess(String text, int policies, int queues) {
        long bytes = text.codePoints().mapToLong(PolicyFileText::utf8Bytes).sum();
        if (bytes > MAX_LENGTH) {
            return excess(bytes, "bytes", MAX_LENGTH);
        }
        return policies > PolicyFile.MAX_POLICIES
                ? excess(policies, "policies", PolicyFile.MAX_POLICIES)
                : queues > PolicyFile.MAX_QUEUES ? excess(queues, "queues", PolicyFile.MAX_QUEUES) : Optional.empty();
    }

    private static Optional<String> excess(long count, String what, int maximum) {
        return Optional.of("the file has %d %s, and a policy file can have %d".formatted(count, what, maximum));
    }

    private static int utf8Bytes(int codePoint) {
        return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
    }

    private static void write(String key, List<Entry> entries, StringBuilder yaml) {
        yaml.append(key).append(entries.isEmpty() ? ": []\n" : ":\n");
        for (Entry entry : entries) {
            entry.comments()
                    .forEach(line ->
                            yaml.append("  # ").append(SafeText.of(line)).append('\n'));
            String start = "  - ";
            YamlTree tree = YamlTree.read(entry.json(), new Faults("a definition"));
            for (Map.Entry<String, YamlTree> field : tree.fields().entrySet()) {
                yaml.append(start).append(scalar(field.getKey())).append(':');
                writeValue(field.getValue(), "    ", yaml);
                start = "    ";
            }
        }
    }

    /** Writes the value of a key, and the end of its line. Mappings in a list are always on lines of their own. */
    private static void writeValue(YamlTree value, String indent, StringBuilder yaml) {
        String line = flow(value);
        boolean isListOfMappings =
                value.isList() && value.items().stream().anyMatch(item -> item.kind() == YamlTree.Kind.MAPPING);
        boolean isShort = indent.length() + line.length() <= MAX_LINE;
        if (!isListOfMappings && (isShort || line.equals(scalarOrNull(value)))) {
            yaml.append(' ').append(line).append('\n');
        } else if (value.isList()) {
            yaml.append('\n');
            value.items().forEach(item -> yaml.append(indent)
                    .append("  - ")
                    .append(flow(item))
                    .append('\n'));
        } else {
            yaml.append('\n');
            value.fields().forEach((name, field) -> {
                String key = scalar(name);
                String start = key.length() <= MAX_SIMPLE_KEY ? key : "? " + key + "\n" + indent + "  ";
                yaml.append(indent).append("  ").append(start).append(':');
                writeValue(field, indent + "  ", yaml);
            });
        }
    }

    /** Returns a value on one line. */
    private static String flow(YamlTree value) {
        return switch (value.kind()) {
            case MAPPING ->
                value.fields().entrySet().stream()
                        .map(field -> flowKey(scalar(field.getKey())) + ": " + flow(field.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            case LIST -> value.items().stream().map(PolicyFileText::flow).collect(Collectors.joining(", ", "[", "]"));
            default -> scalarOrNull(value);
        };
    }

    private static String flowKey(String key) {
        return key.length() <= MAX_SIMPLE_KEY ? key : "? " + key + " ";
    }

    /** Returns null unless the value is a scalar. Numbers and booleans have no quotes in JSON. */
    private static String scalarOrNull(YamlTree value) {
        return switch (value.kind()) {
            case PLAIN -> value.text();
            case QUOTED -> scalar(value.text());
            case EMPTY, MISSING -> "~";
            case MAPPING, LIST -> null;
        };
    }

    private static String scalar(String text) {
        boolean isPlain = PLAIN.matcher(text).matches() && !RESERVED.contains(text.toLowerCase(Locale.ROOT));
        return isPlain ? text : quoted(text);
    }

    /** Returns the text as JSON, which YAML reads as a text in double quotes. */
    private static String quoted(String text) {
        StringWriter json = new StringWriter();
        try (JsonGenerator generator = JSON.createGenerator(json)) {
            generator.writeString(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return SafeText.of(json.toString());
    }
}
