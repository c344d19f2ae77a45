package dev.weir.processor;

import dev.weir.config.WeirConfig.MisplacedAction;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * Which partition of the request topic has the requests of a client: that of Kafka's default partitioner for Java, for
 * the client's name in UTF-8 as the key.
 *
 * @param partitions how many partitions the request topic has; state is divided among as many, so it never changes
 * @param misplaced what is done with a record that is in another one
 */
public record RequestPlacement(int partitions, MisplacedAction misplaced) {

    /** Whether there is such a partition, and it is another one than this. */
    boolean isMisplaced(int partition, int than) {
        return partition < partitions && partition != than;
    }

    /** @param client the client's name in UTF-8 */
    public int partitionOf(byte[] client) {
        return BuiltInPartitioner.partitionForKey(client, partitions);
    }
}
