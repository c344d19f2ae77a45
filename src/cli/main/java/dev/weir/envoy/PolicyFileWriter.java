package dev.weir.envoy;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.definition.PolicyFileText;
import dev.weir.definition.PolicyFileText.Entry;
import dev.weir.envoy.EnvoyDescriptor.Limit;
import dev.weir.fault.SafeText;
import dev.weir.wire.json.Json;
import java.util.List;

/** Writes imported policies as a policy file. */
final class PolicyFileWriter {

    private final EnvoyImport.Options options;

    PolicyFileWriter(EnvoyImport.Options options) {
        this.options = options;
    }

    /** Returns the policy file of these policies. */
    String write(List<String> files, List<ImportedPolicy> policies) {
        return "# Converted by weir policies import-envoy from " + SafeText.of(String.join(", ", files)) + "\n"
                + PolicyFileText.yaml(policies.stream().map(this::entry).toList(), List.of());
    }

    private Entry entry(ImportedPolicy policy) {
        ObjectNode json = Json.MAPPER
                .createObjectNode()
                .put("id", policy.id())
                .put("layer", options.layer())
                .put("priority", policy.priority());
        ObjectNode match = json.putObject("match");
        policy.match().forEach(match::put);
        boolean isDefaultKey = policy.key().equals(List.of("client"));
        if (!isDefaultKey) {
            ArrayNode key = json.putArray("key");
            policy.key().forEach(key::add);
        }
        Limit limit = policy.limit();
        putTerms(json.putArray("limits").addObject(), limit);
        if (limit.shadow() && limit.unit().isPresent()) {
            json.put("on-exceed", "observe");
        }
        if (options.lease()) {
            json.put("lease", "client");
        }
        String place =
                policy.place().map(where -> where.file() + ":" + where.line()).orElse("descriptors without a limit");
        return new Entry(Json.write(json), List.of(place));
    }

    private static void putTerms(ObjectNode json, Limit limit) {
        limit.unit()
                .ifPresentOrElse(
                        unit -> json.put("algorithm", "fixed-window")
                                .put("limit", limit.requests())
                                .put("per", unit.per()),
                        () -> json.put("unlimited", true));
    }
}
