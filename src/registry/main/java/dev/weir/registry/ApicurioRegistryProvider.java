package dev.weir.registry;

import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import java.util.Map;

/** Connects to Apicurio Registry. */
public final class ApicurioRegistryProvider implements SchemaRegistryProvider {

    @Override
    public SchemaRegistry connect(Map<String, ?> properties) {
        return new ApicurioRegistry(properties);
    }
}
