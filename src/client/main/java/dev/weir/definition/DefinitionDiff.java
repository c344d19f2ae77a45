package dev.weir.definition;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.weir.fault.Faults;
import dev.weir.limit.Limit;
import dev.weir.policy.LimitMatcher;
import dev.weir.policy.Policy;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Compares two definitions of a policy or a queue, as written: no defaults are filled in, and the order of keys and
 * limits does not matter. Each limit is compared with the earlier limit that it continues, as {@link LimitMatcher}
 * determines it. Other lists are compared as a whole.
 */
public final class DefinitionDiff {

    private static final Pattern PLAIN = Pattern.compile("[\\p{L}\\p{N}_./*?+-][\\p{L}\\p{N}_./*?+:-]*");

    private static final JsonFactory ASCII_JSON =
            JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private DefinitionDiff() {}

    /**
     * A difference. Values have the syntax of the policy file, on one line. A value that could be misread is a
     * JSON string.
     *
     * @param path the path of the value, such as {@code limits[0].per}, in the new definition or, if it was removed, in
     *     the old one
     * @param before the old value; null if it was added
     * @param after the new value; null if it was removed
     */
    public record Difference(String path, String before, String after) {}

    /**
     * Returns the differences, in the order of the new definition. At each level, removed values come last, in the
     * order of the old definition.
     *
     * @param before the old definition, as {@link PolicyFile.Definition#json} returns it
     * @param after the new definition
     * @return the differences; empty if there are none
     */
    public static List<Difference> of(String before, String after) {
        List<Difference> differences = new ArrayList<>();
        compare(read(before), read(after), differences);
        return differences;
    }

    private static YamlTree read(String json) {
        return YamlTree.read(json, new Faults("a definition"));
    }

    private static void compare(YamlTree before, YamlTree after, List<Difference> differences) {
        if (before.kind() == YamlTree.Kind.MAPPING && after.kind() == YamlTree.Kind.MAPPING) {
            Map<String, YamlTree> olds = before.fields();
            after.fields().forEach((key, value) -> compareOrAdd(olds.get(key), value, differences));
            olds.forEach((key, value) -> {
                if (!after.fields().containsKey(key)) {
                    differences.add(new Difference(value.path(), text(value), null));
                }
            });
        } else if (before.isList() && after.isList() && after.path().equals("limits")) {
            compareLimits(before.items(), after.items(), differences);
        } else if (!text(before).equals(text(after))) {
            differences.add(new Difference(after.path(), text(before), text(after)));
        }
    }

    private static void compareLimits(List<YamlTree> before, List<YamlTree> after, List<Difference> differences) {
        Map<Integer, Integer> pairs = pairs(before, after);
        for (int i = 0; i < after.size(); i++) {
            Integer old = pairs.get(i);
            compareOrAdd(old == null ? null : before.get(old), after.get(i), differences);
        }
        for (int j = 0; j < before.size(); j++) {
            if (!pairs.containsValue(j)) {
                differences.add(new Difference(before.get(j).path(), text(before.get(j)), null));
            }
        }
    }

    private static void compareOrAdd(YamlTree before, YamlTree after, List<Difference> differences) {
        if (before == null) {
            differences.add(new Difference(after.path(), null, text(after)));
        } else {
            compare(before, after, differences);
        }
    }

    /**
     * Returns for each new limit the old one to compare it with. If a limit cannot be read, for example one of a later
     * version, limits are paired by position.
     */
    private static Map<Integer, Integer> pairs(List<YamlTree> before, List<YamlTree> after) {
        List<Limit<?>> olds = limits(before);
        List<Limit<?>> news = limits(after);
        if (olds.size() == before.size() && news.size() == after.size()) {
            return LimitMatcher.of(olds, news);
        }
        Map<Integer, Integer> places = new HashMap<>();
        for (int i = 0; i < Math.min(before.size(), after.size()); i++) {
            places.put(i, i);
        }
        return places;
    }

    /** Returns the limits that can be read. */
    private static List<Limit<?>> limits(List<YamlTree> trees) {
        return trees.stream()
                .map(LimitReader::read)
                .filter(Objects::nonNull)
                .<Limit<?>>map(Policy.Term::limit)
                .toList();
    }

    private static String text(YamlTree value) {
        return switch (value.kind()) {
            case MAPPING ->
                value.fields().entrySet().stream()
                        .map(field -> scalar(field.getKey()) + ": " + text(field.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            case LIST -> value.items().stream().map(DefinitionDiff::text).collect(Collectors.joining(", ", "[", "]"));
            case PLAIN, QUOTED -> scalar(value.text());
            case EMPTY, MISSING -> "null";
        };
    }

    private static String scalar(String text) {
        return PLAIN.matcher(text).matches() ? text : quoted(text);
    }

    private static String quoted(String text) {
        StringWriter json = new StringWriter();
        try (JsonGenerator generator = ASCII_JSON.createGenerator(json)) {
            generator.writeString(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return json.toString();
    }
}
