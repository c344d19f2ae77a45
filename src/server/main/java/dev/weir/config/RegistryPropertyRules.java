package dev.weir.config;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The properties of a registry's client that operators can set. Those of Apicurio's client that determine the encoding
 * of records are excluded.
 */
final class RegistryPropertyRules {

    static final String URL = "url";

    private static final String API = "api";
    private static final String APICURIO = "apicurio";
    private static final String CONFLUENT = "confluent";

    /** The names of the properties without the prefix {@code apicurio.registry.}. */
    private static final Set<String> KEYS = new TreeSet<>(Set.of(
            URL,
            API,
            "auto-register",
            "artifact.group-id",
            "auth.service.token.endpoint",
            "auth.client.id",
            "auth.client.secret",
            "auth.client.scope",
            "auth.username",
            "auth.password",
            "tls.truststore.location",
            "tls.truststore.password",
            "tls.truststore.type",
            "tls.certificates",
            "tls.trust-all",
            "tls.verify-host",
            "proxy.host",
            "proxy.port",
            "proxy.username",
            "proxy.password"));

    private static final Set<String> CONFLUENT_KEYS =
            new TreeSet<>(Set.of(URL, API, "auto-register", "auth.username", "auth.password"));

    private static final Pattern ADDRESS = Pattern.compile("https?://[^/@\\s]+(/\\S*)?");
    private static final Set<String> FLAGS = Set.of("auto-register", "tls.trust-all", "tls.verify-host");

    private RegistryPropertyRules() {}

    static Set<String> keys() {
        return KEYS;
    }

    /** Returns the fault of a property, to be appended to its key; empty if it has none. */
    static Optional<String> violation(String key, String value) {
        if (!KEYS.contains(key)) {
            return Optional.of("is not supported; the supported properties are " + String.join(", ", KEYS));
        }
        if (key.equals(URL) && !ADDRESS.matcher(value).matches()) {
            return Optional.of("must be a URL as http://host:port/path, without a user name");
        }
        if (key.equals(API) && !value.equals(APICURIO) && !value.equals(CONFLUENT)) {
            return Optional.of("must be " + APICURIO + " or " + CONFLUENT + ", is '" + value + "'");
        }
        if (FLAGS.contains(key) && !value.equals("true") && !value.equals("false")) {
            return Optional.of("must be true or false, is '" + value + "'");
        }
        return Optional.empty();
    }

    /** A property that does not fit the others. */
    record Conflict(String key, String fault) {}

    /** Returns the conflict of valid properties with each other; empty if there is none. */
    static Optional<Conflict> conflict(Map<String, String> registry) {
        if (!registry.isEmpty() && !registry.containsKey(URL)) {
            return Optional.of(new Conflict(URL, "is required"));
        }
        if (CONFLUENT.equals(registry.get(API))) {
            return registry.keySet().stream()
                    .filter(key -> !CONFLUENT_KEYS.contains(key))
                    .sorted()
                    .findFirst()
                    .map(key -> new Conflict(
                            key,
                            "is not supported with registry.api: confluent; the supported properties are "
                                    + String.join(", ", CONFLUENT_KEYS)));
        }
        String url = registry.getOrDefault(URL, "");
        return url.contains("/apis/registry/v2") || url.contains("/ccompat/")
                ? Optional.of(new Conflict(
                        URL,
                        "must be the URL of Apicurio's API, http://host:port/apis/registry/v3; for Confluent's API, set"
                                + " registry.api: confluent"))
                : Optional.empty();
    }
}
