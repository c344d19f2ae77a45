package dev.weir.server.http;

import io.javalin.http.Context;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The query parameters of a request. Unknown and repeated parameters are rejected. */
public final class QueryParameters {

    private final Map<String, String> values = new TreeMap<>();

    private QueryParameters(Context request, Set<String> known, String prefix) {
        for (Map.Entry<String, List<String>> parameter : request.queryParamMap().entrySet()) {
            String name = parameter.getKey();
            boolean isKnown = known.contains(name) || (prefix != null && name.startsWith(prefix));
            if (!isKnown) {
                throw bad("unknown parameter '" + name + "'");
            }
            if (parameter.getValue().size() != 1) {
                throw bad("parameter " + name + " must not be repeated");
            }
            values.put(name, parameter.getValue().get(0));
        }
    }

    /** @throws ProblemDetails.ProblemException with 400 if there is a parameter */
    public static void requireNone(Context request) {
        of(request);
    }

    /** @throws ProblemDetails.ProblemException with 400 if a parameter is unknown or repeated */
    public static QueryParameters of(Context request, String... known) {
        return new QueryParameters(request, Set.of(known), null);
    }

    /** Returns the same as {@link #of}, but also permits parameters that begin with a prefix. */
    public static QueryParameters ofPrefix(Context request, String prefix, String... known) {
        return new QueryParameters(request, Set.of(known), prefix);
    }

    public Optional<String> text(String name) {
        return Optional.ofNullable(values.get(name));
    }

    /** Returns the parameters that begin with a prefix, by the rest of their names. */
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
                throw bad(name + " must be a whole number from " + min + " to " + max + ", is '" + text + "'");
            }
            return Integer.valueOf(text);
        });
    }

    /** Returns the constants that a parameter names, separated by commas, in any case; empty without the parameter. */
    public <E extends Enum<E>> Set<E> words(String name, Class<E> type) {
        Set<E> found = EnumSet.noneOf(type);
        text(name).ifPresent(text -> {
            for (String word : text.split(",", -1)) {
                found.add(constant(name, word, type));
            }
        });
        return found;
    }

    /** Returns the constant that a parameter names, in any case. */
    public <E extends Enum<E>> Optional<E> word(String name, Class<E> type) {
        return text(name).map(word -> constant(name, word, type));
    }

    private static <E extends Enum<E>> E constant(String name, String word, Class<E> type) {
        Set<E> all = EnumSet.allOf(type);
        return all.stream()
                .filter(one -> one.name().equalsIgnoreCase(word))
                .findFirst()
                .orElseThrow(() -> bad(name + " must be one of "
                        + all.stream().map(Enum::name).collect(Collectors.joining(", ")) + ", is '" + word + "'"));
    }

    public boolean flag(String name) {
        String text = values.getOrDefault(name, "false");
        if (!text.equals("true") && !text.equals("false")) {
            throw bad(name + " must be true or false, is '" + text + "'");
        }
        return text.equals("true");
    }

    private static ProblemDetails.ProblemException bad(String detail) {
        return ProblemDetails.of(400, detail).exception();
    }
}
