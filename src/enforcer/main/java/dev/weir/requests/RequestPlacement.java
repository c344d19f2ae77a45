package dev.weir.requests;

import dev.weir.config.WeirConfig.MisplacedAction;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * Assigns clients to the partitions of the state by the client's name in UTF-8, in the same way as the default
 * partitioner of Kafka's Java client assigns keys to those of the request topic.
 *
 * <p>The request topic may have more partitions. Each added one is read by one task, and its records are misplaced
 * unless their clients are those of this task.
 *
 * @param partitions the numbers of partitions
 * @param misplaced what to do with a record that is not in the partition of its client
 */
public record RequestPlacement(RequestPartitions partitions, MisplacedAction misplaced) {

    /** Creates a placement for a request topic with as many partitions as the state. */
    public RequestPlacement(int partitions, MisplacedAction misplaced) {
        this(new RequestPartitions(partitions, partitions), misplaced);
    }

    /**
     * Returns what to do with a record that another task must decide. If partitions were added, it may be in the
     * partition of its client, and is always routed.
     */
    public MisplacedAction action() {
        return partitions.areAdded() ? MisplacedAction.ROUTE : misplaced;
    }

    /**
     * Returns the task that decides the requests of a client, by its partition.
     *
     * @param client the client's name in UTF-8
     */
    public int partitionOf(byte[] client) {
        return BuiltInPartitioner.partitionForKey(client, partitions.state());
    }
}
