package dev.weir.config;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The properties of Apicurio's client that operators can set. Those that determine the encoding of records
 * are excluded.
 */
final class RegistryPropertyRules {

    static final String URL = "url";

    /** The names of the properties without the prefix {@code apicurio.registry.}. */
    private static final Set<String> KEYS = new TreeSet<>(Set.of(
            URL,
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
        if (key.equals(URL) && !isAddress(value)) {
            return Optional.of(
                    "must be the URL of Apicurio's API, http://host:port/apis/registry/v3, without a user name");
        }
        if (FLAGS.contains(key) && !value.equals("true") && !value.equals("false")) {
            return Optional.of("must be true or false, is '" + value + "'");
        }
        return Optional.empty();
    }

    /** Returns the fault of all properties together; empty if there is none. */
    static Optional<String> violation(Map<String, String> registry) {
        return registry.isEmpty() || registry.containsKey(URL)
                ? Optional.empty()
                : Optional.of("registry.url is missing");
    }

    private static boolean isAddress(String value) {
        return ADDRESS.matcher(value).matches() && !value.contains("/apis/registry/v2") && !value.contains("/ccompat/");
    }
}
