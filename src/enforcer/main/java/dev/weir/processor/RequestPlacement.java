package dev.weir.processor;

import dev.weir.config.WeirConfig.MisplacedAction;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * Assigns clients to partitions of the request topic, in the same way as the default partitioner of Kafka's Java client
 * does for the client's name in UTF-8 as the key.
 *
 * @param partitions the number of partitions of the request topic; state is partitioned in the same way, so the number
 *     must never change
 * @param misplaced what to do with a record that is in another partition
 */
public record RequestPlacement(int partitions, MisplacedAction misplaced) {

    /** Returns whether {@code partition} exists and differs from {@code than}. */
    boolean isMisplaced(int partition, int than) {
        return partition < partitions && partition != than;
    }

    /**
     * Returns the partition of a client.
     *
     * @param client the client's name in UTF-8
     */
    public int partitionOf(byte[] client) {
        return BuiltInPartitioner.partitionForKey(client, partitions);
    }
}
