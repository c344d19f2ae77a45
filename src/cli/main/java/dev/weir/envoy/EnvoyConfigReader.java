package dev.weir.envoy;

import dev.weir.definition.YamlTree;
import dev.weir.envoy.EnvoyDescriptor.Limit;
import dev.weir.envoy.EnvoyDescriptor.Place;
import dev.weir.fault.Fault;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reads one configuration file of envoyproxy/ratelimit. It rejects what {@code config_impl.go} of that project rejects,
 * and reports the keys that a policy does not have.
 */
final class EnvoyConfigReader {

    private static final List<String> ROOT_KEYS = List.of("domain", "descriptors");
    private static final List<String> DESCRIPTOR_KEYS = List.of(
            "key",
            "value",
            "descriptors",
            "rate_limit",
            "shadow_mode",
            "quota_mode",
            "detailed_metric",
            "value_to_metric",
            "share_threshold",
            "metadata");
    private static final List<String> LIMIT_KEYS =
            List.of("unit", "requests_per_unit", "unlimited", "name", "replaces");

    /** All keys, which are valid in every mapping but have an effect only in theirs. */
    private static final Set<String> KEYS = new HashSet<>();

    static {
        KEYS.addAll(ROOT_KEYS);
        KEYS.addAll(DESCRIPTOR_KEYS);
        KEYS.addAll(LIMIT_KEYS);
    }

    private static final long MAX_REQUESTS = (1L << 32) - 1;

    /**
     * A limit that replaces others: they do not apply to requests to which it applies.
     *
     * @param place where it is written
     * @param domain the domain of both
     * @param name the name of the others
     */
    record Replacement(Place place, String domain, String name) {}

    private final String file;
    private String domain = "";
    private final List<Fault> different = new ArrayList<>();
    private final List<Fault> ignored = new ArrayList<>();
    private final List<Replacement> replacements = new ArrayList<>();

    EnvoyConfigReader(String file) {
        this.file = file;
    }

    /** Returns the keys that are converted, although Weir decides differently without them. */
    List<Fault> different() {
        return different;
    }

    /** Returns the keys that have no effect on decisions. */
    List<Fault> ignored() {
        return ignored;
    }

    List<Replacement> replacements() {
        return replacements;
    }

    /**
     * Adds the descriptors of a file to its domain. Adds faults to those of the document.
     *
     * @param domains the domains by name, to which a new one is added
     */
    void read(YamlTree document, Map<String, EnvoyDescriptor> domains) {
        fields(document, ROOT_KEYS);
        YamlTree name = document.require("domain");
        domain = textOrEmpty(name);
        if (name.isPresent() && domain.isEmpty()) {
            name.fault("must be the name of a domain, is empty");
        }
        readNext(document.get("descriptors"), domains.computeIfAbsent(domain, EnvoyDescriptor::root));
    }

    private void readNext(YamlTree descriptors, EnvoyDescriptor parent) {
        if (!descriptors.isPresent() || descriptors.isEmpty()) {
            return;
        }
        for (YamlTree item : descriptors.items()) {
            fields(item, DESCRIPTOR_KEYS);
            EnvoyDescriptor descriptor = descriptor(item);
            if (descriptor.key().isEmpty()) {
                if (item.get("key").isPresent()) {
                    item.get("key").fault("must be the key of an entry, is empty");
                } else {
                    item.require("key");
                }
            } else if (!parent.add(descriptor)) {
                item.fault("is a duplicate: another descriptor of this level has the key and value "
                        + descriptor.compositeKey());
            }
            readNext(item.get("descriptors"), descriptor);
        }
    }

    private EnvoyDescriptor descriptor(YamlTree tree) {
        String key = textOrEmpty(tree.get("key"));
        String value = textOrEmpty(tree.get("value"));
        boolean shadow = flag(tree, "shadow_mode");
        boolean shares = flag(tree, "share_threshold");
        if (shares && key.indexOf('*') < 0 && value.indexOf('*') < 0) {
            tree.get("share_threshold").fault("requires a value with a wildcard (*)");
        }
        for (String metrics : List.of("detailed_metric", "value_to_metric")) {
            if (flag(tree, metrics)) {
                ignore(
                        tree.get(metrics),
                        "is ignored: it only names metrics; Weir's metrics have no descriptor values");
            }
        }
        if (tree.get("metadata").isPresent()) {
            ignore(tree.get("metadata"), "is ignored: policies have no metadata; Weir returns the policy's id instead");
        }
        if (key.equals("remote_address") && value.indexOf(':') >= 0) {
            different.add(place(tree.get("value"))
                    .fault(
                            "is an IPv6 address: the policy needs gateway.ipv6-prefix: 128 in the gateway's configuration,"
                                    + " since by default it replaces addresses by their ranges"));
        }
        Optional<Limit> limit = limit(tree.get("rate_limit"), shadow);
        if (flag(tree, "quota_mode") && limit.isPresent()) {
            different.add(place(tree.get("quota_mode"))
                    .fault("is converted to a limit: Weir denies a request if one of its quotas is exceeded, not only"
                            + " if all are; set quota: true for these descriptors in the gateway's configuration"));
        }
        return new EnvoyDescriptor(place(tree), key, value, limit, shares);
    }

    private Optional<Limit> limit(YamlTree tree, boolean shadow) {
        if (!tree.isPresent() || tree.isEmpty()) {
            return Optional.empty();
        }
        fields(tree, LIMIT_KEYS);
        String name = textOrEmpty(tree.get("name"));
        Long requests = tree.get("requests_per_unit").wholeNumber(0, MAX_REQUESTS);
        readReplacements(tree.get("replaces"), name);
        YamlTree unit = tree.get("unit");
        if (flag(tree, "unlimited")) {
            if (unit.isPresent()) {
                unit.fault("must not be set if unlimited is true");
            }
            return Optional.of(new Limit(0, Optional.empty(), name, shadow));
        }
        EnvoyUnit read = tree.require("unit").read(EnvoyUnit::of);
        if (!tree.get("requests_per_unit").isPresent()) {
            different.add(place(tree)
                    .fault("has no requests_per_unit: the policy denies all requests, as"
                            + " envoyproxy/ratelimit does; set limit in the policy"));
        }
        return Optional.of(new Limit(
                requests == null ? 0 : requests, Optional.of(read == null ? EnvoyUnit.SECOND : read), name, shadow));
    }

    private void readReplacements(YamlTree tree, String own) {
        if (!tree.isPresent() || tree.isEmpty()) {
            return;
        }
        for (YamlTree item : tree.items()) {
            fields(item, List.of("name"));
            String name = textOrEmpty(item.get("name"));
            if (name.isEmpty()) {
                item.fault("must have the name of another limit");
            } else if (name.equals(own)) {
                item.fault("must not be the limit itself, is '" + name + "'");
            } else {
                replacements.add(new Replacement(place(item), domain, name));
            }
        }
    }

    /** Adds faults for unknown keys, and reports those that have no effect in this mapping. */
    private void fields(YamlTree tree, List<String> own) {
        tree.fields(KEYS).forEach((key, value) -> {
            if (KEYS.contains(key) && !own.contains(key)) {
                ignore(value, "is ignored: envoyproxy/ratelimit does not read it here either");
            }
        });
    }

    private void ignore(YamlTree tree, String why) {
        ignored.add(place(tree).fault(why));
    }

    private Place place(YamlTree tree) {
        return new Place(file, tree.line(), tree.path());
    }

    private static boolean flag(YamlTree tree, String key) {
        return Boolean.TRUE.equals(tree.get(key).flag());
    }

    private static String textOrEmpty(YamlTree tree) {
        String text = tree.isEmpty() ? "" : tree.text();
        return text == null ? "" : text;
    }
}
