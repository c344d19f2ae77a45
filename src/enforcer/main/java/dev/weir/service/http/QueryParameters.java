package dev.weir.service.http;

import io.javalin.http.Context;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** What follows the question mark: each name once, and none that is not known. */
public final class QueryParameters {

    private final Map<String, String> values = new TreeMap<>();

    private QueryParameters(Context request, Set<String> known, String prefix) {
        for (Map.Entry<String, List<String>> parameter : request.queryParamMap().entrySet()) {
            String name = parameter.getKey();
            boolean isKnown = known.contains(name) || (prefix != null && name.startsWith(prefix));
            if (!isKnown) {
                throw bad("there is no parameter '" + name + "'");
            }
            if (parameter.getValue().size() != 1) {
                throw bad(name + " must be there once");
            }
            values.put(name, parameter.getValue().get(0));
        }
    }

    /** @throws ProblemDetails.ProblemException if there is any, 400 */
    public static void requireNone(Context request) {
        of(request);
    }

    /** @throws ProblemDetails.ProblemException if one is not known or there twice, 400 */
    public static QueryParameters of(Context request, String... known) {
        return new QueryParameters(request, Set.of(known), null);
    }

    /** As {@link #of}, where all that begin with a prefix are known too. */
    public static QueryParameters ofPrefix(Context request, String prefix, String... known) {
        return new QueryParameters(request, Set.of(known), prefix);
    }

    public Optional<String> text(String name) {
        return Optional.ofNullable(values.get(name));
    }

    /** Those that begin with a prefix, by what follows it. */
    public Map<String, String> withPrefix(String prefix) {
        Map<String, String> found = new TreeMap<>();
        values.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                found.put(name.substring(prefix.length()), value);
            }
        });
        return found;
    }

    public Optional<Integer> number(String name, int min, int max) {
        return text(name).map(text -> {
            if (!text.matches("[0-9]{1,9}") || Integer.parseInt(text) < min || Integer.parseInt(text) > max) {
                throw bad(name + " must be a whole number from " + min + " to " + max);
            }
            return Integer.valueOf(text);
        });
    }

    public boolean flag(String name) {
        String text = values.getOrDefault(name, "false");
        if (!text.equals("true") && !text.equals("false")) {
            throw bad(name + " must be true or false");
        }
        return text.equals("true");
    }

    private static ProblemDetails.ProblemException bad(String detail) {
        return ProblemDetails.of(400, detail).exception();
    }
}
