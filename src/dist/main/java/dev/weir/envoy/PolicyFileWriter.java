package dev.weir.envoy;

import com.fasterxml.jackson.databind.node.TextNode;
import dev.weir.envoy.EnvoyDescriptor.Limit;
import dev.weir.fault.SafeText;
import dev.weir.wire.Json;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Writes policies as a policy file. */
final class PolicyFileWriter {

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z][A-Za-z0-9._-]*");

    /** Words that YAML 1.1 reads as another type. */
    private static final Set<String> RESERVED = Set.of("null", "true", "false", "yes", "no", "on", "off", "y", "n");

    private final StringBuilder yaml = new StringBuilder();
    private final EnvoyImport.Options options;

    PolicyFileWriter(EnvoyImport.Options options) {
        this.options = options;
    }

    /** Returns the policy file of these policies. */
    String write(List<String> files, List<ImportedPolicy> policies) {
        yaml.append("# Converted by weir policies import-envoy from ")
                .append(SafeText.of(String.join(", ", files)))
                .append('\n')
                .append(policies.isEmpty() ? "policies: []\n" : "policies:\n");
        policies.forEach(this::write);
        return yaml.toString();
    }

    private void write(ImportedPolicy policy) {
        yaml.append("  # ")
                .append(policy.place()
                        .map(place -> SafeText.of(place.file() + ":" + place.line()))
                        .orElse("descriptors without a limit"))
                .append('\n');
        line("  - id: ", word(policy.id()));
        line("    layer: ", word(options.layer()));
        line("    priority: ", String.valueOf(policy.priority()));
        line(
                "    match: ",
                policy.match().entrySet().stream()
                        .map(field -> word(field.getKey()) + ": " + quoted(field.getValue()))
                        .collect(Collectors.joining(", ", "{", "}")));
        boolean isDefaultKey = policy.key().equals(List.of("client"));
        if (!isDefaultKey) {
            line(
                    "    key: ",
                    policy.key().stream().map(PolicyFileWriter::word).collect(Collectors.joining(", ", "[", "]")));
        }
        line("    limits: ", "[" + limit(policy.limit()) + "]");
        if (policy.limit().shadow() && policy.limit().unit().isPresent()) {
            line("    on-exceed: ", "observe");
        }
        if (options.lease()) {
            line("    lease: ", "client");
        }
    }

    private void line(String key, String value) {
        yaml.append(key).append(value).append('\n');
    }

    private static String limit(Limit limit) {
        return limit.unit()
                .map(unit -> "{algorithm: fixed-window, limit: " + limit.requests() + ", per: " + unit.per() + "}")
                .orElse("{unlimited: true}");
    }

    private static String word(String text) {
        boolean isPlain = PLAIN.matcher(text).matches() && !RESERVED.contains(text.toLowerCase(Locale.ROOT));
        return isPlain ? text : quoted(text);
    }

    /** Returns the text as JSON, which YAML reads as a text in double quotes. */
    private static String quoted(String text) {
        return SafeText.of(Json.write(TextNode.valueOf(text)));
    }
}
