package dev.weir.app;

import dev.weir.codec.SchemaRegistry;
import dev.weir.codec.SchemaRegistryProvider;
import dev.weir.config.WeirConfig;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The schema registry that a configuration names. */
public final class Registries {

    private Registries() {}

    /**
     * Nothing is asked yet.
     *
     * @throws dev.weir.codec.RegistryException if its properties make no sense
     */
    public static Optional<SchemaRegistry> of(WeirConfig config) {
        Map<String, String> properties = new HashMap<>();
        config.registry().forEach((key, value) -> properties.put(SchemaRegistryProvider.PREFIX + key, value));
        return SchemaRegistryProvider.of(properties);
    }
}
