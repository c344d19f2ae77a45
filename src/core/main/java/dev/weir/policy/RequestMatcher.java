package dev.weir.policy;

import dev.weir.event.Request;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The condition under which a policy matches a request: each named field ({@code client}, {@code tier} or an
 * attribute) must match one of its patterns. A request that lacks the field does not match. A matcher without fields
 * matches all requests.
 */
public final class RequestMatcher {

    /** The most fields of a policy. */
    public static final int MAX_FIELDS = 32;

    /** The longest name of a field, in Unicode code points. */
    public static final int MAX_FIELD_LENGTH = 1024;

    /** The most patterns of one field. */
    public static final int MAX_PATTERNS = 1000;

    /** Matches all requests. */
    public static final RequestMatcher ALL = new RequestMatcher(Map.of());

    /** A request always has a client. */
    private static final List<Glob> EACH_CLIENT = List.of(new Glob("**"));

    private final TreeMap<String, List<Glob>> conditions = new TreeMap<>();
    private final Condition[] all;

    /** A field and its patterns, in the form in which requests are matched. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Condition(String field, Glob[] globs) {
        boolean holds(String value) {
            for (Glob glob : globs) {
                if (glob.matches(value)) {
                    return true;
                }
            }
            return false;
        }

        boolean includes(List<Glob> others, GlobInclusion comparison) {
            Set<Glob> own = Set.copyOf(List.of(globs));
            for (Glob other : others) {
                boolean isIncluded = own.contains(other);
                for (int i = 0; i < globs.length && !isIncluded; i++) {
                    isIncluded = globs[i].includes(other, comparison);
                }
                if (!isIncluded) {
                    return false;
                }
            }
            return true;
        }

        boolean mayOverlap(Glob other) {
            for (Glob glob : globs) {
                if (glob.mayOverlap(other)) {
                    return true;
                }
            }
            return false;
        }
    }

    /**
     * @param conditions the patterns of each field, one of which must match
     * @throws IllegalArgumentException if there are too many fields or patterns, a field has none, or its name is too
     *     long
     */
    public RequestMatcher(Map<String, List<Glob>> conditions) {
        if (conditions.size() > MAX_FIELDS) {
            throw new IllegalArgumentException("a policy matches on at most " + MAX_FIELDS + " fields");
        }
        conditions.forEach((field, globs) -> {
            requireField(field);
            if (globs.isEmpty() || globs.size() > MAX_PATTERNS) {
                throw new IllegalArgumentException(
                        field + " must have 1 to " + MAX_PATTERNS + " values, has " + globs.size());
            }
            this.conditions.put(field, List.copyOf(globs));
        });
        all = this.conditions.entrySet().stream()
                .map(condition ->
                        new Condition(condition.getKey(), condition.getValue().toArray(Glob[]::new)))
                .toArray(Condition[]::new);
    }

    /**
     * Returns the name of a field.
     *
     * @throws IllegalArgumentException if it is longer than {@value #MAX_FIELD_LENGTH} code points
     */
    public static String requireField(String name) {
        if (name.codePointCount(0, name.length()) > MAX_FIELD_LENGTH) {
            throw new IllegalArgumentException("the name of a field must have at most " + MAX_FIELD_LENGTH
                    + " characters, has " + name.codePointCount(0, name.length()));
        }
        return name;
    }

    /** Returns the patterns of each field, with fields in alphabetical order. */
    public Map<String, List<Glob>> conditions() {
        return Collections.unmodifiableMap(conditions);
    }

    public boolean matches(Request request) {
        for (Condition condition : all) {
            String value = request.field(condition.field);
            if (value == null || !condition.holds(value)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns whether one request can match both. Also returns true if the patterns do not determine it
     * ({@link Glob#mayOverlap}).
     */
    boolean mayOverlap(RequestMatcher other) {
        for (Condition condition : all) {
            List<Glob> others = other.conditions.get(condition.field);
            boolean overlaps = others == null;
            for (int i = 0; others != null && i < others.size() && !overlaps; i++) {
                overlaps = condition.mayOverlap(others.get(i));
            }
            if (!overlaps) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns whether this matches each request that another one matches. Returns false if it does not, or if the
     * patterns do not determine it: each pattern of the other must be included in one of this.
     */
    boolean includes(RequestMatcher other, GlobInclusion comparison) {
        for (Condition condition : all) {
            List<Glob> narrow = condition.field.equals("client")
                    ? other.conditions.getOrDefault(condition.field, EACH_CLIENT)
                    : other.conditions.get(condition.field);
            if (narrow == null || !condition.includes(narrow, comparison)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns the values of a field that match if they are listed without wildcards; empty if a pattern has wildcards,
     * or if every value matches.
     */
    Optional<List<String>> literalValues(String field) {
        List<Glob> globs = conditions.get(field);
        return globs == null || !globs.stream().allMatch(Glob::isLiteral)
                ? Optional.empty()
                : Optional.of(globs.stream().map(Glob::literalPrefix).toList());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RequestMatcher match && match.conditions.equals(conditions);
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
