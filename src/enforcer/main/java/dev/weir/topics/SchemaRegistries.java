package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The schema registry that a configuration names. */
public final class SchemaRegistries {

    private SchemaRegistries() {}

    /**
     * Nothing is asked yet.
     *
     * @throws dev.weir.wire.RegistryException if its properties make no sense
     */
    public static Optional<SchemaRegistry> of(WeirConfig config) {
        Map<String, String> properties = new HashMap<>();
        config.registry().forEach((key, value) -> properties.put(SchemaRegistryProvider.PREFIX + key, value));
        return SchemaRegistryProvider.of(properties);
    }
}
