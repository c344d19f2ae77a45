package dev.weir.gateway.envoy;

import dev.weir.client.Fallback;
import dev.weir.definition.YamlTree;
import dev.weir.gateway.envoy.mapping.CallBounds;
import dev.weir.gateway.envoy.mapping.DescriptorMapping;
import dev.weir.gateway.envoy.mapping.DescriptorRule;
import dev.weir.gateway.envoy.mapping.EntryTexts;
import dev.weir.gateway.envoy.mapping.EnvoyMapping;
import dev.weir.gateway.envoy.message.ResponseContents;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.Glob;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Reads the section {@code envoy} of a gateway's configuration file. All keys are optional. Each rule has the keys of a
 * mapping, and those of the section as defaults.
 */
public final class EnvoySection {

    private static final Map<String, Fallback> FALLBACKS =
            new TreeMap<>(Map.of("allow", Fallback.FAIL_OPEN, "deny", Fallback.FAIL_CLOSED, "error", Fallback.FAIL));

    private static final Map<String, Boolean> CHARGES = new TreeMap<>(Map.of("always", true, "if-allowed", false));

    private static final Set<String> MAPPING_KEYS = new TreeSet<>(Set.of(
            "client",
            "tier",
            "request-id",
            "attributes",
            "keys-attribute",
            "charge",
            "quota",
            "timeout",
            "on-timeout"));

    private static final Set<String> RULE_KEYS = with(MAPPING_KEYS, "match");

    private static final Set<String> SECTION_KEYS = with(
            MAPPING_KEYS,
            "merge",
            "rules",
            "headers",
            "metadata",
            "over-limit-body",
            "max-descriptors",
            "max-entries",
            "max-message",
            "max-calls",
            "max-calls-per-connection",
            "max-connections",
            "max-connections-per-address",
            "max-resets",
            "threads",
            "tls");

    /** The text for no attribute. */
    private static final String NONE = "none";

    private static final int MAX_RULES = 1000;
    private static final int MAX_KEYS = 16;
    private static final int MAX_FIELDS = 32;
    private static final int MAX_PATTERNS = 1000;
    private static final int MAX_BODY_LENGTH = 4096;
    private static final int MAX_THREADS = 256;
    private static final int MAX_CALLS = 1_000_000;
    private static final int MAX_CONNECTIONS = 100_000;

    private EnvoySection() {}

    private static Set<String> with(Set<String> keys, String... others) {
        Set<String> all = new TreeSet<>(keys);
        all.addAll(List.of(others));
        return all;
    }

    /**
     * Reads the section. Faults are added to those of the document; values with a fault are the defaults.
     *
     * @param section the section, missing or empty for the defaults
     * @return the configuration
     */
    public static EnvoyConfig read(YamlTree section) {
        EnvoyConfig defaults = EnvoyConfig.DEFAULTS;
        if (!section.isPresent() || section.isEmpty()) {
            return defaults;
        }
        section.fields(SECTION_KEYS);
        DescriptorMapping mapping = mapping(section, DescriptorMapping.DEFAULTS);
        CallBounds bounds = defaults.bounds();
        ResponseContents contents = defaults.contents();
        return new EnvoyConfig(
                new EnvoyMapping(
                        rules(section.get("rules"), mapping),
                        mapping,
                        flag(section.get("merge"), false),
                        EntryTexts.DEFAULTS),
                new ResponseContents(
                        flag(section.get("headers"), contents.hasHeaders()),
                        contents.olderHeaders(),
                        flag(section.get("metadata"), contents.hasMetadata()),
                        read(section.get("over-limit-body"), EnvoySection::body, contents.overLimitBody())),
                new CallBounds(
                        number(section.get("max-descriptors"), 1, 1000, bounds.maxDescriptors()),
                        number(section.get("max-entries"), 1, 1000, bounds.maxEntries()),
                        read(section.get("max-message"), EnvoySection::messageBytes, bounds.maxMessageBytes()),
                        number(section.get("max-calls"), 1, MAX_CALLS, bounds.maxCalls())),
                connections(section, defaults.connections()),
                number(section.get("threads"), 1, MAX_THREADS, defaults.threads()),
                defaults.drain(),
                tls(section.get("tls")));
    }

    private static ConnectionBounds connections(YamlTree section, ConnectionBounds bounds) {
        return new ConnectionBounds(
                number(section.get("max-connections"), 1, MAX_CONNECTIONS, bounds.maxConnections()),
                number(section.get("max-connections-per-address"), 1, MAX_CONNECTIONS, bounds.maxPerAddress()),
                number(section.get("max-calls-per-connection"), 1, MAX_CALLS, bounds.maxCalls()),
                number(section.get("max-resets"), 1, MAX_CALLS, bounds.maxResets()));
    }

    private static Optional<EnvoyTls> tls(YamlTree mapping) {
        if (!mapping.isPresent()) {
            return Optional.empty();
        }
        mapping.fields(List.of("certificate", "key", "client-ca"));
        Path certificate = read(mapping.require("certificate"), EnvoySection::path, null);
        Path key = read(mapping.require("key"), EnvoySection::path, null);
        Path clientCa = read(mapping.get("client-ca"), EnvoySection::path, null);
        return certificate == null || key == null
                ? Optional.empty()
                : Optional.of(new EnvoyTls(certificate, key, Optional.ofNullable(clientCa)));
    }

    private static Path path(String text) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("must be a file, is '" + text + "'");
        }
        return Path.of(text);
    }

    private static DescriptorMapping mapping(YamlTree tree, DescriptorMapping defaults) {
        YamlTree fallback = tree.get("on-timeout");
        YamlTree charge = tree.get("charge");
        return new DescriptorMapping(
                entryKeys(tree, defaults.keys()),
                charge.isPresent()
                        ? Objects.requireNonNullElse(charge.oneOf(CHARGES), defaults.settles())
                        : defaults.settles(),
                flag(tree.get("quota"), defaults.isQuota()),
                read(tree.get("timeout"), EnvoySection::timeout, defaults.timeout()),
                fallback.isPresent()
                        ? Objects.requireNonNullElse(fallback.oneOf(FALLBACKS), defaults.fallback())
                        : defaults.fallback());
    }

    private static DescriptorMapping.EntryKeys entryKeys(YamlTree tree, DescriptorMapping.EntryKeys defaults) {
        YamlTree keysAttribute = tree.get("keys-attribute");
        return new DescriptorMapping.EntryKeys(
                keys(tree.get("client"), defaults.client()),
                keys(tree.get("tier"), defaults.tier()),
                keys(tree.get("request-id"), defaults.requestId()),
                attributes(tree.get("attributes"), defaults.attributes()),
                keysAttribute.isPresent()
                        ? Optional.ofNullable(keysAttribute.text()).filter(name -> !name.equals(NONE))
                        : defaults.keysAttribute());
    }

    private static List<DescriptorRule> rules(YamlTree list, DescriptorMapping defaults) {
        List<DescriptorRule> rules = new ArrayList<>();
        for (YamlTree rule : bounded(list, list.isPresent() ? list.items() : List.of(), MAX_RULES)) {
            rule.fields(RULE_KEYS);
            rules.add(new DescriptorRule(match(rule.require("match")), mapping(rule, defaults)));
        }
        return rules;
    }

    private static Map<String, List<Glob>> match(YamlTree mapping) {
        Map<String, List<Glob>> match = new LinkedHashMap<>();
        Map<String, YamlTree> fields = mapping.isPresent() ? mapping.fields() : Map.of();
        if (fields.size() > MAX_FIELDS) {
            mapping.fault("must have at most " + MAX_FIELDS + " keys, has " + fields.size());
            return match;
        }
        fields.forEach((key, values) -> {
            List<Glob> globs = new ArrayList<>();
            for (YamlTree item : bounded(values, values.itemsOrOne(), MAX_PATTERNS)) {
                Glob glob = item.read(Glob::new);
                if (glob != null) {
                    globs.add(glob);
                }
            }
            if (values.isPresent() && !values.isEmpty() && values.itemsOrOne().isEmpty()) {
                values.fault("must have a pattern");
            }
            match.put(key, globs);
        });
        return match;
    }

    private static List<String> keys(YamlTree list, List<String> otherwise) {
        if (!list.isPresent()) {
            return otherwise;
        }
        List<String> keys = new ArrayList<>();
        for (YamlTree item : bounded(list, list.itemsOrOne(), MAX_KEYS)) {
            String key = item.text();
            if (key != null) {
                keys.add(key);
            }
        }
        return keys;
    }

    private static Map<String, String> attributes(YamlTree mapping, Map<String, String> otherwise) {
        if (!mapping.isPresent()) {
            return otherwise;
        }
        Map<String, String> attributes = new LinkedHashMap<>();
        Map<String, YamlTree> fields = mapping.fields();
        if (fields.size() > MAX_FIELDS) {
            mapping.fault("must have at most " + MAX_FIELDS + " attributes, has " + fields.size());
            return otherwise;
        }
        fields.forEach((name, value) -> {
            String key = value.text();
            if (key != null) {
                attributes.put(name, key);
            }
        });
        return attributes;
    }

    private static List<YamlTree> bounded(YamlTree list, List<YamlTree> items, int most) {
        if (items.size() <= most) {
            return items;
        }
        list.fault("must have at most " + most + " items, has " + items.size());
        return List.of();
    }

    private static boolean flag(YamlTree value, boolean otherwise) {
        return value.isPresent() ? Objects.requireNonNullElse(value.flag(), otherwise) : otherwise;
    }

    private static int number(YamlTree value, int min, int max, int otherwise) {
        Long number = value.isPresent() ? value.wholeNumber(min, max) : null;
        return number == null ? otherwise : number.intValue();
    }

    private static <T> T read(YamlTree value, Function<String, T> reading, T otherwise) {
        T read = value.isPresent() ? value.read(reading) : null;
        return read == null ? otherwise : read;
    }

    private static Duration timeout(String text) {
        Duration timeout = Duration.ofMillis(DurationsAndSizes.durationMs(text));
        DescriptorMapping.requireTimeout(timeout);
        return timeout;
    }

    private static int messageBytes(String text) {
        long bytes = DurationsAndSizes.sizeBytes(text);
        int most = 16 << 20;
        if (bytes < 1024 || bytes > most) {
            throw new IllegalArgumentException("must be 1KiB to 16MiB, is '" + text + "'");
        }
        return (int) bytes;
    }

    private static String body(String text) {
        if (text.length() > MAX_BODY_LENGTH) {
            throw new IllegalArgumentException("must have at most " + MAX_BODY_LENGTH + " characters");
        }
        return text;
    }
}
