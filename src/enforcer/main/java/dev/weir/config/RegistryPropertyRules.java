package dev.weir.config;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Which of Apicurio's properties an operator may set: not those that say what the bytes are, which is for Weir to say.
 */
final class RegistryPropertyRules {

    static final String URL = "url";

    /** Their names without {@code apicurio.registry.} before them. */
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

    /** What is wrong with a property, to be read after its key; empty if nothing is. */
    static Optional<String> violation(String key, String value) {
        if (!KEYS.contains(key)) {
            return Optional.of("must not be set: Weir knows " + String.join(", ", KEYS));
        }
        if (key.equals(URL) && !isAddress(value)) {
            return Optional.of(
                    "must be the address of Apicurio's API, http://host:port/apis/registry/v3, and name no user");
        }
        if (FLAGS.contains(key) && !value.equals("true") && !value.equals("false")) {
            return Optional.of("must be true or false, is '" + value + "'");
        }
        return Optional.empty();
    }

    /** What is wrong with all of them together. */
    static Optional<String> violation(Map<String, String> registry) {
        return registry.isEmpty() || registry.containsKey(URL)
                ? Optional.empty()
                : Optional.of("registry.url is missing");
    }

    private static boolean isAddress(String value) {
        return ADDRESS.matcher(value).matches() && !value.contains("/apis/registry/v2") && !value.contains("/ccompat/");
    }
}
