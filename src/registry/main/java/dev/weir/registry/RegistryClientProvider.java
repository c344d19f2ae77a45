package dev.weir.registry;

import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import java.util.Map;

/** Connects to a registry through Apicurio's or Confluent's API. {@link java.util.ServiceLoader} creates it. */
public final class RegistryClientProvider implements SchemaRegistryProvider {

    /** Creates a provider. */
    public RegistryClientProvider() {}

    @Override
    public SchemaRegistry connect(Map<String, ?> properties) {
        return CONFLUENT.equals(properties.get(API))
                ? new ConfluentRegistry(properties)
                : new ApicurioRegistry(properties);
    }
}
