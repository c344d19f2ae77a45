package dev.weir.registry;

import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import java.util.Map;

/** Connects to Apicurio Registry. {@link java.util.ServiceLoader} creates it. */
public final class ApicurioRegistryProvider implements SchemaRegistryProvider {

    /** Creates a provider. */
    public ApicurioRegistryProvider() {}

    @Override
    public SchemaRegistry connect(Map<String, ?> properties) {
        return new ApicurioRegistry(properties);
    }
}
