package dev.weir.wire;

import java.util.List;
import java.util.Optional;

/**
 * A registry that maps ids to schemas. Records in Confluent's wire format contain the id. The schema of an id never
 * changes. Implementations are thread-safe, and their methods block until the registry responds.
 */
public interface SchemaRegistry {

    /**
     * Returns the id of the schema of a topic's values. May register the schema.
     *
     * @param topic the name of the topic
     * @param schema the schema as JSON
     * @return the id
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    int id(String topic, String schema);

    /**
     * Returns the schema of an id.
     *
     * @param id the id
     * @return the schema as JSON, after the schemas that it refers to; empty if the registry does not have it
     * @throws RegistryException if the registry does not respond
     */
    Optional<List<String>> schema(int id);
}
