package dev.weir.transaction;

import java.util.Set;
import org.apache.kafka.common.TopicPartition;

/**
 * The end of a transaction as the coordinator decided it, from its log.
 *
 * @param endEpoch the producer's epoch that the coordinator wrote with the decision. With {@code transaction.version}
 *     2, it is the epoch of the transaction's records plus 1
 * @param version the {@code transaction.version} of the transaction
 * @param partitions all partitions of the transaction
 */
record TransactionEnd(
        long producerId, short endEpoch, short version, boolean isCommitted, Set<TopicPartition> partitions) {

    /** The first version in which each transaction has its own epoch (KIP-890). */
    static final short EPOCH_PER_TRANSACTION = 2;

    TransactionEnd {
        partitions = Set.copyOf(partitions);
    }
}
