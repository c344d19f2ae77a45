package dev.weir.wire;

import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * Connects to the schema registry that properties name. The implementation is found with {@link ServiceLoader}, so only
 * programs that use a registry need the registry's client on their class path.
 */
public interface SchemaRegistryProvider {

    /** The prefix of all properties that a provider reads. */
    String PREFIX = "apicurio.registry.";

    /** The property with the registry's URL. */
    String URL = PREFIX + "url";

    /** The property with the registry's API: {@link #CONFLUENT}, or {@code apicurio}, the default. */
    String API = PREFIX + "api";

    /** The value of {@link #API} for Confluent's API. */
    String CONFLUENT = "confluent";

    /**
     * Returns a client of the registry. It sends no request yet.
     *
     * @param properties properties of Apicurio's serdes, at least {@link #URL}; others are ignored
     * @return a client
     * @throws RegistryException if the properties are invalid
     */
    SchemaRegistry connect(Map<String, ?> properties);

    /**
     * Returns a client of the registry that the properties name. It sends no request yet.
     *
     * @param properties properties of Kafka's clients
     * @return a client; empty if the properties have no {@link #URL}
     * @throws RegistryException if the properties are invalid, or no provider is on the class path
     */
    static Optional<SchemaRegistry> of(Map<String, ?> properties) {
        if (properties.get(URL) == null) {
            return Optional.empty();
        }
        SchemaRegistryProvider provider = ServiceLoader.load(
                        SchemaRegistryProvider.class, SchemaRegistryProvider.class.getClassLoader())
                .findFirst()
                .orElseThrow(() -> new RegistryException(
                        URL + " is set, but no schema registry client is on the class path; add the artifact"
                                + " dev.weir:weir-registry",
                        null));
        return Optional.of(provider.connect(properties));
    }
}
