package dev.weir.transaction;

import java.util.Set;
import org.apache.kafka.common.TopicPartition;

/**
 * A state of a transaction that its coordinator has logged.
 *
 * @param epoch the producer's epoch. With {@code transaction.version} 2, that of a decision is the epoch of the
 *     transaction's records plus 1
 * @param version the {@code transaction.version} of the transaction. If the coordinator has aborted it by itself, it is
 *     that of the coordinator, so that of the records may be lower
 * @param partitions all partitions of the transaction so far
 */
record LoggedTransaction(long producerId, short epoch, short version, Status status, Set<TopicPartition> partitions) {

    /** The logged states that matter for the end of a transaction. */
    enum Status {
        ONGOING,
        COMMITTED,
        ABORTED
    }

    LoggedTransaction {
        partitions = Set.copyOf(partitions);
    }
}
