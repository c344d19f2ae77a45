package dev.weir.gateway;

import dev.weir.http.PathRules;
import dev.weir.http.PercentEncoding;
import dev.weir.http.UnclearPathException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The request that a proxy has received and asks about.
 *
 * @param method the method, as sent
 * @param path the normalized path
 * @param query the query without the question mark, as sent; empty if there is none
 * @param host the host without port, in lower case; empty if there is none
 * @param addressText returns the text for the address of the client
 * @param headers returns the values of a header by its name, whose case does not matter
 */
record ProxiedRequest(
        String method,
        String path,
        String query,
        String host,
        Supplier<String> addressText,
        Function<String, List<String>> headers) {

    /**
     * Returns a request.
     *
     * @param target the path with its query, as sent; an absolute URI is accepted too
     * @param hostHeader the host with or without its port, in any case
     * @param paths normalizes the path
     * @throws InvalidCallException if the path is unclear
     */
    static ProxiedRequest of(
            String method,
            String target,
            String hostHeader,
            PathRules paths,
            Supplier<String> addressText,
            Function<String, List<String>> headers) {
        String sent = !target.startsWith("/") && target.contains("://") ? afterAuthority(target) : target;
        int mark = sent.indexOf('?');
        return new ProxiedRequest(
                method,
                normalized(mark < 0 ? sent : sent.substring(0, mark), paths),
                mark < 0 ? "" : sent.substring(mark + 1),
                host(hostHeader),
                addressText,
                headers);
    }

    private static String normalized(String path, PathRules rules) {
        try {
            return rules.normalize(path);
        } catch (UnclearPathException e) {
            throw new InvalidCallException(InvalidCallException.BAD_REQUEST, e.getMessage());
        }
    }

    private static String afterAuthority(String uri) {
        int start = uri.indexOf("://") + "://".length();
        for (int i = start; i < uri.length(); i++) {
            if ("/?#".indexOf(uri.charAt(i)) >= 0) {
                return uri.substring(i);
            }
        }
        return "/";
    }

    private static String host(String header) {
        String lower = header.strip().toLowerCase(Locale.ROOT);
        int port = lower.lastIndexOf(':');
        String host = port > lower.indexOf(']') ? lower.substring(0, port) : lower;
        return host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
    }

    /** Returns the text for the address of the client. */
    String address() {
        return addressText.get();
    }

    /**
     * Returns the value of a header.
     *
     * @return empty if it is missing or blank
     * @throws InvalidCallException if it is repeated: proxies and servers differ in which value they use
     */
    Optional<String> header(String name) {
        return single("header " + name, headers.apply(name));
    }

    /**
     * Returns the decoded value of a parameter of the query.
     *
     * @return empty if it is missing or blank
     * @throws InvalidCallException if it is repeated
     */
    Optional<String> parameter(String name) {
        List<String> values = query.isEmpty()
                ? List.of()
                : List.of(query.split("&", -1)).stream()
                        .map(pair -> pair.split("=", 2))
                        .filter(pair -> PercentEncoding.decodeParameter(pair[0]).equals(name))
                        .map(pair -> pair.length == 1 ? "" : PercentEncoding.decodeParameter(pair[1]))
                        .toList();
        return single("query parameter " + name, values);
    }

    private static Optional<String> single(String what, List<String> values) {
        if (values.size() > 1) {
            throw new InvalidCallException(InvalidCallException.BAD_REQUEST, what + " is repeated");
        }
        String value = values.isEmpty() ? "" : values.get(0).strip();
        return value.isEmpty() ? Optional.empty() : Optional.of(value);
    }
}
