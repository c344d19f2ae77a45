package dev.weir.envoy;

import dev.weir.policy.Policy;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Names policies after limits and descriptors, each with another id. */
final class PolicyIds {

    private static final int MAX_LENGTH = 128;

    private final Set<String> used = new HashSet<>();

    /** Returns an id for the limit of a descriptor: its name, otherwise the domain, keys and values of its path. */
    String of(String domain, List<EnvoyDescriptor> path, EnvoyDescriptor.Limit limit) {
        return Policy.isName(limit.name()) && used.add(limit.name()) ? limit.name() : unused(joined(domain, path));
    }

    /** Returns an id for the descriptors with some keys that begin with a path and have no limit. */
    String ofOthers(String domain, List<EnvoyDescriptor> path, List<String> keys) {
        String rest = keys.stream().skip(path.size()).map(key -> "." + key).collect(Collectors.joining());
        return unused(joined(domain, path) + rest + "-others");
    }

    private static String joined(String domain, List<EnvoyDescriptor> path) {
        return Stream.concat(Stream.of(domain), path.stream().map(EnvoyDescriptor::compositeKey))
                .collect(Collectors.joining("."));
    }

    private String unused(String text) {
        String valid = text.replaceAll("[^A-Za-z0-9._-]+", "-");
        String id = valid.length() <= MAX_LENGTH ? valid : valid.substring(0, MAX_LENGTH);
        for (int n = 2; !used.add(id); n++) {
            String number = "-" + n;
            id = valid.substring(0, Math.min(valid.length(), MAX_LENGTH - number.length())) + number;
        }
        return id;
    }
}
