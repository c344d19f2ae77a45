package dev.weir.codec;

import java.util.Map;

/** Connects to Apicurio Registry. */
public final class ApicurioRegistryProvider implements SchemaRegistryProvider {

    @Override
    public SchemaRegistry connect(Map<String, ?> properties) {
        return new ApicurioRegistry(properties);
    }
}
