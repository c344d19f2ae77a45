package dev.weir.gateway.envoy.mapping;

import dev.weir.policy.Glob;
import java.util.List;
import java.util.Map;

/**
 * A mapping for some descriptors.
 *
 * @param match the patterns of {@code domain} and of entries by key, one of which must match; a descriptor without the
 *     entry does not match
 * @param mapping the mapping of the descriptors that match
 */
public record DescriptorRule(Map<String, List<Glob>> match, DescriptorMapping mapping) {

    /** The key for the domain, also if an entry has this key. */
    static final String DOMAIN = "domain";

    /** Creates a rule. */
    public DescriptorRule {
        match = Map.copyOf(match);
    }

    boolean matches(String domain, List<DescriptorEntry> entries) {
        for (Map.Entry<String, List<Glob>> condition : match.entrySet()) {
            boolean holds = condition.getKey().equals(DOMAIN)
                    ? matchesAny(condition.getValue(), domain)
                    : entries.stream()
                            .anyMatch(entry -> entry.key().equals(condition.getKey())
                                    && matchesAny(condition.getValue(), entry.value()));
            if (!holds) {
                return false;
            }
        }
        return true;
    }

    private static boolean matchesAny(List<Glob> globs, String value) {
        for (Glob glob : globs) {
            if (glob.matches(value)) {
                return true;
            }
        }
        return false;
    }
}
