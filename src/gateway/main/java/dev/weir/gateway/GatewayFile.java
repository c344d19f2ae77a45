package dev.weir.gateway;

import dev.weir.address.IpAddresses;
import dev.weir.client.Fallback;
import dev.weir.config.ConfigFile;
import dev.weir.config.ConfigSection;
import dev.weir.config.WeirConfig;
import dev.weir.definition.YamlTree;
import dev.weir.fault.FaultsException;
import dev.weir.gateway.AuthorizeRoute.Part;
import dev.weir.gateway.envoy.EnvoySection;
import dev.weir.http.PathRules;
import dev.weir.http.PathRules.DoubleSlash;
import dev.weir.http.PathRules.EncodedSlash;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.Glob;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/** Reads the configuration file of a gateway. It has the form of that of an enforcer, with a section {@code gateway}. */
public final class GatewayFile {

    private static final int MAX_RANGES = 1_000;
    private static final int MAX_PATTERNS = 1_000;

    private static final Set<String> ROUTE_KEYS =
            Set.of("id", "match", "client", "tier", "attributes", "cost", "request-id", "timeout", "on-timeout");

    private static final Map<String, Fallback> FALLBACKS =
            new TreeMap<>(Map.of("allow", Fallback.FAIL_OPEN, "deny", Fallback.FAIL_CLOSED));

    private static final Map<String, EncodedSlash> ENCODED_SLASH = new TreeMap<>(
            Map.of("decode", EncodedSlash.DECODE, "keep", EncodedSlash.KEEP, "reject", EncodedSlash.REJECT));
    private static final Map<String, DoubleSlash> DOUBLE_SLASH =
            new TreeMap<>(Map.of("merge", DoubleSlash.MERGE, "reject", DoubleSlash.REJECT));
    /** Whether the fallbacks decide, by the value of {@code on-overload}. */
    private static final Map<String, Boolean> ON_OVERLOAD = new TreeMap<>(Map.of("deny", false, "fallback", true));

    private GatewayFile() {}

    /**
     * The configuration of a gateway.
     *
     * @param weir the sections that an enforcer has too
     * @param gateway the section {@code gateway}
     */
    public record Contents(WeirConfig weir, GatewayConfig gateway) {

        private static Contents of(ConfigFile.WithGateway<GatewayConfig> read) {
            return new Contents(read.weir(), read.gateway());
        }
    }

    /**
     * Reads a file.
     *
     * @throws IOException if the file cannot be read
     * @throws FaultsException with all faults
     */
    public static Contents read(Path file) throws IOException, FaultsException {
        return Contents.of(ConfigFile.read(file, GatewayConfig.DEFAULTS, GatewayFile::section));
    }

    /**
     * Reads the text of a file.
     *
     * @param fileName the name of the file, for faults
     * @throws FaultsException with all faults
     */
    public static Contents read(String fileName, String text) throws FaultsException {
        return Contents.of(ConfigFile.read(fileName, text, GatewayConfig.DEFAULTS, GatewayFile::section));
    }

    private static GatewayConfig section(ConfigSection section, GatewayConfig defaults) {
        ProxyRules proxies = proxies(section, defaults.proxies());
        return new GatewayConfig(
                section.read(GatewayConfig.HTTP_PORT, defaults.httpPort()),
                section.read(GatewayConfig.GRPC_PORT, defaults.grpcPort()),
                section.read(GatewayConfig.MAX_CONNECTIONS, defaults.maxConnections()),
                section.read(GatewayConfig.DRAIN, defaults.drain()),
                proxies,
                new GatewayConfig.Answers(
                        routes(section.get("routes"), proxies.paths()),
                        oneOf(
                                section.get("on-overload"),
                                ON_OVERLOAD,
                                defaults.answers().fallbackOnOverload())),
                EnvoySection.read(section.get("envoy")));
    }

    private static ProxyRules proxies(ConfigSection section, ProxyRules defaults) {
        return new ProxyRules(
                new ForwardedAddress(
                        trusted(
                                section.get("trusted-proxies"),
                                defaults.address().trusted()),
                        ipv6PrefixLength(
                                section.get("ipv6-prefix"), defaults.address().ipv6PrefixLength())),
                read(section.get("original-request"), OriginalRequest::of, defaults.original()),
                section.section("paths", GatewayFile::paths, defaults.paths()));
    }

    private static PathRules paths(ConfigSection section, PathRules defaults) {
        YamlTree foldCase = section.get("fold-case");
        return new PathRules(
                oneOf(section.get("encoded-slash"), ENCODED_SLASH, defaults.encodedSlash()),
                oneOf(section.get("double-slash"), DOUBLE_SLASH, defaults.doubleSlash()),
                foldCase.isPresent()
                        ? Objects.requireNonNullElse(foldCase.flag(), defaults.foldCase())
                        : defaults.foldCase());
    }

    private static <T> T oneOf(YamlTree value, Map<String, T> words, T otherwise) {
        return value.isPresent() ? Objects.requireNonNullElse(value.oneOf(words), otherwise) : otherwise;
    }

    private static <T> T read(YamlTree value, Function<String, T> reading, T otherwise) {
        return value.isPresent() ? Objects.requireNonNullElse(value.read(reading), otherwise) : otherwise;
    }

    private static int ipv6PrefixLength(YamlTree value, int otherwise) {
        Long length = value.isPresent() ? value.wholeNumber(1, IpAddresses.IPV6_BITS) : null;
        return length == null ? otherwise : length.intValue();
    }

    private static List<AddressRange> trusted(YamlTree list, List<AddressRange> otherwise) {
        if (!list.isPresent()) {
            return otherwise;
        }
        List<AddressRange> ranges = new ArrayList<>();
        for (YamlTree item : bounded(list, list.items(), MAX_RANGES)) {
            AddressRange range = item.read(AddressRange::parse);
            if (range != null) {
                ranges.add(range);
            }
        }
        return ranges;
    }

    private static List<YamlTree> bounded(YamlTree list, List<YamlTree> items, int most) {
        if (items.size() <= most) {
            return items;
        }
        list.fault("must have at most " + most + " items, has " + items.size());
        return List.of();
    }

    private static List<AuthorizeRoute> routes(YamlTree list, PathRules paths) {
        List<AuthorizeRoute> routes = new ArrayList<>();
        Set<String> ids = new HashSet<>(Set.of(AuthorizeRoute.DEFAULT.id()));
        for (YamlTree item :
                list.isPresent() ? bounded(list, list.items(), GatewayConfig.MAX_ROUTES) : List.<YamlTree>of()) {
            AuthorizeRoute route = route(item, paths);
            if (route == null) {
                continue;
            }
            if (!ids.add(route.id())) {
                item.get("id")
                        .fault(
                                route.id().equals(AuthorizeRoute.DEFAULT.id())
                                        ? "must not be '" + route.id() + "', the id of the built-in last route"
                                        : "is the id of an earlier route too");
            }
            routes.add(route);
        }
        return routes;
    }

    /** Returns the route, null if it has no valid id. */
    private static AuthorizeRoute route(YamlTree route, PathRules paths) {
        route.fields(ROUTE_KEYS);
        String id = route.require("id").text();
        Map<Part, List<Glob>> match = match(route.get("match"), paths);
        RequestTemplates defaults = RequestTemplates.DEFAULTS;
        RequestTemplates templates = new RequestTemplates(
                variable(route.get("client")).orElse(defaults.client()),
                template(route.get("tier")),
                attributes(route.get("attributes"), defaults.attributes()),
                cost(route.get("cost")),
                variable(route.get("request-id")));
        Duration timeout = read(
                route.get("timeout"),
                text -> Duration.ofMillis(DurationsAndSizes.durationMs(text)),
                AuthorizeRoute.DEFAULT_TIMEOUT);
        Fallback onTimeout = oneOf(route.get("on-timeout"), FALLBACKS, Fallback.FAIL_OPEN);
        if (id == null) {
            return null;
        }
        try {
            return new AuthorizeRoute(id, match, templates, timeout, onTimeout);
        } catch (IllegalArgumentException e) {
            route.get(e.getMessage().split(" ", 2)[0]).fault(e.getMessage());
            return null;
        }
    }

    private static Map<Part, List<Glob>> match(YamlTree mapping, PathRules paths) {
        Map<Part, List<Glob>> match = new LinkedHashMap<>();
        if (!mapping.isPresent()) {
            return match;
        }
        Map<String, Part> parts = new LinkedHashMap<>();
        for (Part part : Part.values()) {
            parts.put(part.name().toLowerCase(Locale.ROOT), part);
        }
        mapping.fields(parts.keySet()).forEach((key, values) -> {
            List<Glob> globs = new ArrayList<>();
            List<YamlTree> items = bounded(values, values.itemsOrOne(), MAX_PATTERNS);
            for (YamlTree item : items) {
                Glob glob = item.read(Glob::new);
                if (glob != null) {
                    globs.add(glob);
                    requireFolded(item, glob, parts.get(key), paths);
                }
            }
            if (items.isEmpty() && values.isPresent()) {
                values.fault("must have a pattern");
            }
            if (parts.containsKey(key)) {
                match.put(parts.get(key), globs);
            }
        });
        return match;
    }

    private static void requireFolded(YamlTree item, Glob glob, Part part, PathRules paths) {
        String folded = glob.toString().toLowerCase(Locale.ROOT);
        if (part == Part.PATH && paths.foldCase() && !glob.toString().equals(folded)) {
            item.fault("no path has upper-case letters with gateway.paths.fold-case; write '" + folded + "'");
        }
    }

    private static Optional<Template> template(YamlTree value) {
        return value.isPresent() ? Optional.ofNullable(value.read(Template::parse)) : Optional.empty();
    }

    /** Reads a template that must differ between requests: with one client, all would share its limits. */
    private static Optional<Template> variable(YamlTree value) {
        return value.isPresent() ? Optional.ofNullable(value.read(Template::parseVariable)) : Optional.empty();
    }

    private static Optional<Template> cost(YamlTree value) {
        return value.isPresent() ? Optional.ofNullable(value.read(RequestTemplates::parseCost)) : Optional.empty();
    }

    private static Map<String, Template> attributes(YamlTree mapping, Map<String, Template> otherwise) {
        if (!mapping.isPresent()) {
            return otherwise;
        }
        Map<String, Template> attributes = new LinkedHashMap<>();
        mapping.fields().forEach((name, value) -> template(value).ifPresent(parsed -> attributes.put(name, parsed)));
        return attributes;
    }
}
