package dev.weir.wire;

import java.util.List;
import java.util.Optional;

/** Where schemas have numbers, which records bear in Confluent's wire format. What a number means never changes. */
public interface SchemaRegistry {

    /**
     * The id of the schema that values of a topic are written by.
     *
     * @param schema as JSON
     * @throws RegistryException if the registry does not answer, or does not take it
     */
    int id(String topic, String schema);

    /**
     * The schema of an id, as JSON, after those that it refers to; empty if the registry says that there is none.
     *
     * @throws RegistryException if it does not answer
     */
    Optional<List<String>> schema(int id);
}
