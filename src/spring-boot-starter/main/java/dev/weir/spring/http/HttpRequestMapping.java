package dev.weir.spring.http;

import dev.weir.address.IpAddresses;
import dev.weir.client.RequestBuilder;
import dev.weir.event.Request;
import dev.weir.http.PathRules;
import dev.weir.http.UnclearPathException;
import dev.weir.spring.WeirProperties;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/** The requests that the properties {@code weir.filter.*} describe. Immutable. */
final class HttpRequestMapping {

    private static final String PREFIX = "weir.filter.";

    /** Normal paths have neither escapes to decode nor parameters. */
    private static final PathContainer.Options NORMAL = PathContainer.Options.create('/', false);

    private final List<PathPattern> paths;
    private final List<PathPattern> excludedPaths;
    private final List<HttpValue> client;
    private final List<HttpValue> tier;
    private final Map<String, List<HttpValue>> attributes = new TreeMap<>();
    private final HttpValue.Normalization normalization;

    /**
     * Parses the properties.
     *
     * @throws InvalidConfigurationPropertyValueException if a value is invalid
     */
    HttpRequestMapping(WeirProperties.FilterProperties filter) {
        WeirProperties.PathProperties path = filter.path();
        PathRules rules = new PathRules(path.encodedSlash(), path.doubleSlash(), path.foldCase());
        PathPatternParser parser = new PathPatternParser();
        parser.setCaseSensitive(!rules.foldCase());
        paths = patterns("paths", filter.paths(), parser);
        excludedPaths = patterns("exclude-paths", filter.excludePaths(), parser);
        client = HttpValue.parse(PREFIX + "client", filter.client());
        tier = HttpValue.parse(PREFIX + "tier", filter.tier());
        filter.attributes()
                .forEach((name, from) -> attributes.put(name, HttpValue.parse(PREFIX + "attributes." + name, from)));
        int ipv6PrefixLength = filter.ipv6Prefix();
        if (ipv6PrefixLength < 1 || ipv6PrefixLength > IpAddresses.IPV6_BITS) {
            throw new InvalidConfigurationPropertyValueException(
                    PREFIX + "ipv6-prefix", ipv6PrefixLength, "It must be from 1 to " + IpAddresses.IPV6_BITS + ".");
        }
        normalization = new HttpValue.Normalization(ipv6PrefixLength, rules);
    }

    private static List<PathPattern> patterns(String property, List<String> texts, PathPatternParser parser) {
        return texts.stream()
                .map(text -> {
                    if (!text.startsWith("/")) {
                        throw new InvalidConfigurationPropertyValueException(
                                PREFIX + property, text, "A path pattern must begin with /; it would match no path.");
                    }
                    try {
                        return parser.parse(text);
                    } catch (PatternParseException e) {
                        throw new InvalidConfigurationPropertyValueException(
                                PREFIX + property, text, "Not a path pattern: " + e.toDetailedString());
                    }
                })
                .toList();
    }

    /**
     * Returns whether requests of a path are decided. Those of an unclear path are, since the application might handle
     * it like a path that is included.
     *
     * @param rawPath the path within the application, as sent
     */
    boolean includes(String rawPath) {
        PathContainer path;
        try {
            path = PathContainer.parsePath(normalization.paths().normalize(rawPath), NORMAL);
        } catch (UnclearPathException e) {
            return true;
        }
        return paths.stream().anyMatch(each -> each.matches(path))
                && excludedPaths.stream().noneMatch(each -> each.matches(path));
    }

    /**
     * Returns the request to decide. An attribute without a value is left out.
     *
     * @throws IllegalArgumentException if the HTTP request has no client, or if its path is a value and unclear
     */
    Request request(HttpRequestView http) {
        String name = HttpValue.first(client, http, normalization);
        if (name == null) {
            throw new IllegalArgumentException("the request has none of the values of weir.filter.client");
        }
        RequestBuilder request = RequestBuilder.of(name).tier(HttpValue.first(tier, http, normalization));
        attributes.forEach((attribute, from) -> {
            String value = HttpValue.first(from, http, normalization);
            if (value != null) {
                request.attribute(attribute, value);
            }
        });
        return request.build();
    }
}
