package dev.weir.kafka;

import dev.weir.config.WeirConfig;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Creates the schema registry client of a configuration. */
public final class SchemaRegistries {

    private SchemaRegistries() {}

    /**
     * Returns the configured registry without sending a request.
     *
     * @return empty if no registry is configured
     * @throws dev.weir.wire.RegistryException if the properties are invalid
     */
    public static Optional<SchemaRegistry> of(WeirConfig config) {
        Map<String, String> properties = new HashMap<>();
        config.registry().forEach((key, value) -> properties.put(SchemaRegistryProvider.PREFIX + key, value));
        return SchemaRegistryProvider.of(properties);
    }
}
