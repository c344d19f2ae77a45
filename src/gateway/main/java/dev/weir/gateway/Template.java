package dev.weir.gateway;

import dev.weir.fault.Spelling;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * A text with placeholders for parts of a request. A placeholder lists alternatives, and has the value of the first one
 * that has a value:
 *
 * <pre>
 *   {header.x-api-key}                  the header, without value if it is missing or blank
 *   {header.x-api-key|address}          the header or, without it, the address of the client
 *   {header.x-plan|'free'}              the header or, without it, the text free
 *   tenant-{query.tenant}               the query parameter behind a text
 * </pre>
 *
 * The parts are {@code method}, {@code path}, {@code query}, {@code host}, {@code address}, {@code header.NAME} and
 * {@code query.NAME}.
 */
final class Template {

    private static final List<String> PARTS =
            List.of("method", "path", "query", "host", "address", "header.NAME", "query.NAME");
    private static final Pattern HEADER_NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`~-]{1,100}");
    private static final Pattern PARAMETER_NAME = Pattern.compile("[^{}|']{1,100}");
    private static final String HEADER = "header.";
    private static final String QUERY = "query.";

    /** A part of the text: returns its value, empty if it has none. */
    private interface Part extends Function<ProxiedRequest, Optional<String>> {}

    private final String text;
    private final List<Part> parts;

    private Template(String text, List<Part> parts) {
        this.text = text;
        this.parts = List.copyOf(parts);
    }

    /**
     * Parses a template.
     *
     * @throws IllegalArgumentException if it is empty or a placeholder is invalid; the message quotes the placeholder
     */
    static Template parse(String text) {
        if (text.isEmpty()) {
            throw new IllegalArgumentException("must not be empty");
        }
        List<Part> parts = new ArrayList<>();
        int at = 0;
        while (at < text.length()) {
            int open = text.indexOf('{', at);
            String literal = text.substring(at, open < 0 ? text.length() : open);
            if (literal.indexOf('}') >= 0) {
                throw new IllegalArgumentException("has a } without a { before it");
            }
            if (!literal.isEmpty()) {
                parts.add(request -> Optional.of(literal));
            }
            if (open < 0) {
                break;
            }
            int close = end(text, open);
            parts.add(placeholder(text.substring(open + 1, close)));
            at = close + 1;
        }
        return new Template(text, parts);
    }

    /**
     * Parses a template whose text must depend on the request. A text that is meant for all requests can be written as
     * the placeholder <code>{'text'}</code>.
     *
     * @throws IllegalArgumentException as {@link #parse} does, and if there is no placeholder
     */
    static Template parseVariable(String text) {
        Template template = parse(text);
        if (text.indexOf('{') < 0) {
            throw new IllegalArgumentException("has no placeholder, so it is '" + text + "' for all requests; write \"{"
                    + (isPart(text) ? text : "address") + "}\" for a part of the request, or \"{'"
                    + text.replace("'", "") + "'}\" if one value for all is meant");
        }
        return template;
    }

    private static boolean isPart(String text) {
        try {
            var unused = alternative(text);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Returns the index of the brace that closes a placeholder. Braces in quotes do not count. */
    private static int end(String text, int open) {
        boolean isQuoted = false;
        for (int i = open + 1; i < text.length(); i++) {
            char c = text.charAt(i);
            isQuoted ^= c == '\'';
            if (c == '}' && !isQuoted) {
                return i;
            }
        }
        throw new IllegalArgumentException("has a { without a } behind it");
    }

    private static Part placeholder(String inner) {
        List<Part> alternatives = new ArrayList<>();
        for (String alternative : alternatives(inner)) {
            alternatives.add(alternative(alternative.strip()));
        }
        return request -> {
            for (Part alternative : alternatives) {
                Optional<String> value = alternative.apply(request);
                if (value.isPresent()) {
                    return value;
                }
            }
            return Optional.empty();
        };
    }

    private static List<String> alternatives(String inner) {
        List<String> found = new ArrayList<>();
        boolean isQuoted = false;
        int start = 0;
        for (int i = 0; i < inner.length(); i++) {
            char c = inner.charAt(i);
            isQuoted ^= c == '\'';
            if (c == '|' && !isQuoted) {
                found.add(inner.substring(start, i));
                start = i + 1;
            }
        }
        found.add(inner.substring(start));
        return found;
    }

    private static Part alternative(String name) {
        if (name.length() > 2 && name.startsWith("'") && name.indexOf('\'', 1) == name.length() - 1) {
            String literal = name.substring(1, name.length() - 1);
            return request -> Optional.of(literal);
        }
        if (name.startsWith(HEADER)
                && HEADER_NAME.matcher(name.substring(HEADER.length())).matches()) {
            String header = name.substring(HEADER.length());
            return request -> request.header(header);
        }
        if (name.startsWith(QUERY)
                && PARAMETER_NAME.matcher(name.substring(QUERY.length())).matches()) {
            String parameter = name.substring(QUERY.length());
            return request -> request.parameter(parameter);
        }
        return switch (name) {
            case "method" -> request -> Optional.of(request.method());
            case "path" -> request -> Optional.of(request.path());
            case "query" -> request -> present(request.query());
            case "host" -> request -> present(request.host());
            case "address" -> request -> Optional.of(request.address());
            default -> throw unknown(name);
        };
    }

    private static Optional<String> present(String value) {
        return value.isEmpty() ? Optional.empty() : Optional.of(value);
    }

    private static IllegalArgumentException unknown(String name) {
        String nearest = Spelling.nearest(name, PARTS);
        return new IllegalArgumentException("unknown part '" + name + "'"
                + (nearest == null
                        ? "; a part is one of " + String.join(", ", PARTS) + ", or a text in single quotes"
                        : "; did you mean \"" + nearest + "\"?"));
    }

    /**
     * Returns the text for a request.
     *
     * @return empty if a placeholder has no value
     * @throws InvalidCallException if a header or parameter in use is repeated
     */
    Optional<String> evaluate(ProxiedRequest request) {
        if (parts.size() == 1) {
            return parts.get(0).apply(request);
        }
        StringBuilder value = new StringBuilder();
        for (Part part : parts) {
            Optional<String> next = part.apply(request);
            if (next.isEmpty()) {
                return next;
            }
            value.append(next.get());
        }
        return Optional.of(value.toString());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Template template && template.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
