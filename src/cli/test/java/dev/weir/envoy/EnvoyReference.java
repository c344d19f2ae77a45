package dev.weir.envoy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.yaml.snakeyaml.Yaml;

/**
 * A model of how envoyproxy/ratelimit finds the limit of a descriptor and its counter: {@code GetLimit} in {@code
 * src/config/config_impl.go} and {@code GenerateCacheKey} in {@code src/limiter/cache_key.go}, commit f2fb157.
 */
final class EnvoyReference {

    /** An entry of a descriptor. */
    record Entry(String key, String value) {}

    /** The limit of a descriptor; {@code unit} is null if it is unlimited. */
    record Found(String unit, long requests, boolean shadow, String counter) {}

    private static final class Node {
        final Map<String, Node> children = new LinkedHashMap<>();
        final List<String> wildcards = new ArrayList<>();
        Map<String, Object> limit;
        boolean shadow;
        boolean share;
        String composite = "";
    }

    private final Map<String, Node> domains = new LinkedHashMap<>();

    @SuppressWarnings("unchecked")
    EnvoyReference(String... files) {
        for (String file : files) {
            Map<String, Object> config = (Map<String, Object>) new Yaml().load(file);
            load(domains.computeIfAbsent((String) config.get("domain"), d -> new Node()), config);
        }
    }

    @SuppressWarnings("unchecked")
    private static void load(Node parent, Map<String, Object> config) {
        for (Map<String, Object> descriptor :
                (List<Map<String, Object>>) config.getOrDefault("descriptors", List.of())) {
            Node node = new Node();
            Object value = descriptor.get("value");
            node.composite = descriptor.get("key") + (value == null ? "" : "_" + value);
            node.limit = (Map<String, Object>) descriptor.get("rate_limit");
            node.shadow = Boolean.TRUE.equals(descriptor.get("shadow_mode"));
            node.share = Boolean.TRUE.equals(descriptor.get("share_threshold"));
            if (node.composite.contains("*")) {
                parent.wildcards.add(node.composite);
            }
            parent.children.put(node.composite, node);
            load(node, descriptor);
        }
    }

    Optional<Found> find(String domain, List<Entry> entries) {
        Node at = domains.get(domain);
        StringBuilder counter = new StringBuilder(domain);
        Optional<Found> found = Optional.empty();
        for (int i = 0; at != null && i < entries.size(); i++) {
            Entry entry = entries.get(i);
            String composite = entry.key + "_" + entry.value;
            Node next = at.children.get(composite);
            boolean byWildcard = false;
            for (int w = 0; next == null && w < at.wildcards.size(); w++) {
                if (matches(at.wildcards.get(w), composite)) {
                    next = at.children.get(at.wildcards.get(w));
                    byWildcard = true;
                }
            }
            next = next == null ? at.children.get(entry.key) : next;
            counter.append('|').append(byWildcard && next.share ? next.composite : composite);
            if (next != null && next.limit != null && i == entries.size() - 1) {
                found = Optional.of(found(next, counter.toString()));
            }
            at = next == null || next.children.isEmpty() ? null : next;
        }
        return found;
    }

    private static Found found(Node node, String counter) {
        if (Boolean.TRUE.equals(node.limit.get("unlimited"))) {
            return new Found(null, 0, false, counter);
        }
        Number requests = (Number) node.limit.getOrDefault("requests_per_unit", 0);
        String unit = ((String) node.limit.get("unit")).toLowerCase(Locale.ROOT);
        return new Found(unit, requests.longValue(), node.shadow, counter);
    }

    /** Compares recursively, unlike the original and unlike {@link dev.weir.policy.Glob}. */
    static boolean matches(String pattern, String text) {
        if (pattern.isEmpty()) {
            return text.isEmpty();
        }
        if (pattern.charAt(0) == '*') {
            return matches(pattern.substring(1), text) || (!text.isEmpty() && matches(pattern, text.substring(1)));
        }
        return !text.isEmpty()
                && pattern.charAt(0) == text.charAt(0)
                && matches(pattern.substring(1), text.substring(1));
    }
}
