package dev.weir.policy;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which requests a policy is for: each named field ({@code client}, {@code tier} or an attribute) must match one of its
 * patterns. A request that lacks the field does not match. No condition: every request.
 */
public final class Match {

    /** The most fields of one policy, and the most patterns of one field. */
    public static final int MAX_FIELDS = 32;

    public static final int MAX_PATTERNS = 1000;

    /** Matches every request. */
    public static final Match ALL = new Match(Map.of());

    private final TreeMap<String, List<Glob>> conditions = new TreeMap<>();

    /**
     * @param conditions field to the patterns of which one must match
     * @throws IllegalArgumentException if there are too many, or none for a field
     */
    public Match(Map<String, List<Glob>> conditions) {
        if (conditions.size() > MAX_FIELDS) {
            throw new IllegalArgumentException("a policy matches on at most " + MAX_FIELDS + " fields");
        }
        conditions.forEach((field, globs) -> {
            if (globs.isEmpty() || globs.size() > MAX_PATTERNS) {
                throw new IllegalArgumentException(
                        field + " must have 1 to " + MAX_PATTERNS + " values, has " + globs.size());
            }
            this.conditions.put(field, List.copyOf(globs));
        });
    }

    /** The patterns of each field, fields in alphabetical order. */
    public Map<String, List<Glob>> conditions() {
        return Collections.unmodifiableMap(conditions);
    }

    public boolean matches(Request request) {
        for (Map.Entry<String, List<Glob>> condition : conditions.entrySet()) {
            String value = request.field(condition.getKey());
            if (value == null || !anyMatches(condition.getValue(), value)) {
                return false;
            }
        }
        return true;
    }

    private static boolean anyMatches(List<Glob> globs, String value) {
        for (Glob glob : globs) {
            if (glob.matches(value)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Match match && match.conditions.equals(conditions);
    }

    @Override
    public int hashCode() {
        return conditions.hashCode();
    }

    @Override
    public String toString() {
        return conditions.toString();
    }
}
