package dev.weir.spring.http;

import dev.weir.address.IpAddresses;
import dev.weir.http.PathRules;
import dev.weir.http.UnclearPathException;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;

/**
 * A value of an HTTP request, as a property names it: {@code header:X-Api-Key}.
 *
 * @param kind where the value is
 * @param name the name of the header, parameter or cookie, or the literal; empty for other kinds
 */
record HttpValue(Kind kind, String name) {

    private static final String SYNTAX =
            "use header:NAME, query:NAME, cookie:NAME, literal:TEXT, principal," + " remote-address, method or path";

    private static final Pattern ZONE = Pattern.compile("%[^\\]]*");

    /**
     * How values that have several spellings are read.
     *
     * @param ipv6PrefixLength how many bits of an IPv6 address are read, 1 to 128
     * @param paths normalizes paths
     */
    record Normalization(int ipv6PrefixLength, PathRules paths) {}

    enum Kind {
        HEADER,
        QUERY,
        COOKIE,
        LITERAL,
        PRINCIPAL,
        REMOTE_ADDRESS,
        METHOD,
        PATH;

        boolean isNamed() {
            return compareTo(LITERAL) <= 0;
        }
    }

    /**
     * Parses values.
     *
     * @param property the name of the property, for the error
     * @throws InvalidConfigurationPropertyValueException if a value is invalid
     */
    static List<HttpValue> parse(String property, List<String> texts) {
        return texts.stream().map(text -> parse(property, text)).toList();
    }

    private static HttpValue parse(String property, String text) {
        int colon = text.indexOf(':');
        String kind = colon < 0 ? text : text.substring(0, colon);
        String name = colon < 0 ? "" : text.substring(colon + 1).strip();
        for (Kind each : Kind.values()) {
            String spelling = each.name().toLowerCase(Locale.ROOT).replace('_', '-');
            if (spelling.equals(kind.strip().toLowerCase(Locale.ROOT))
                    && each.isNamed() == (colon >= 0)
                    && each.isNamed() != name.isEmpty()) {
                return new HttpValue(each, name);
            }
        }
        throw new InvalidConfigurationPropertyValueException(
                property, text, "Unknown source of a value: " + SYNTAX + ".");
    }

    /**
     * Returns the first value that is present and not empty, null if there is none.
     *
     * @throws UnclearPathException if the path is read and servers understand it in different ways
     */
    static String first(List<HttpValue> values, HttpRequestView http, Normalization normalization) {
        for (HttpValue each : values) {
            String value = each.read(http, normalization);
            if (value != null && !value.isEmpty()) {
                return value;
            }
        }
        return null;
    }

    private String read(HttpRequestView http, Normalization normalization) {
        return switch (kind) {
            case HEADER -> http.header(name);
            case QUERY -> http.query(name);
            case COOKIE -> http.cookie(name);
            case LITERAL -> name;
            case PRINCIPAL -> http.principal();
            case REMOTE_ADDRESS -> caller(http.remoteAddress(), normalization.ipv6PrefixLength());
            case METHOD -> http.method();
            case PATH -> normalization.paths().normalize(http.path());
        };
    }

    /**
     * Returns the text of an address, for IPv6 that of its range. A zone or port, which some servers and proxies append,
     * is left out. A text that is not an address stays as it is.
     */
    private static String caller(String address, int ipv6PrefixLength) {
        return address == null
                ? null
                : IpAddresses.parseWithPort(ZONE.matcher(address).replaceFirst(""))
                        .map(parsed -> IpAddresses.text(parsed, ipv6PrefixLength))
                        .orElse(address);
    }
}
