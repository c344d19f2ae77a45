package dev.weir.transaction;

import java.util.Set;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;

/**
 * What the transaction coordinator reports about a transactional id.
 *
 * @param producerEpoch the epoch that the producer uses now
 * @param partitions the partitions of the current transaction that have no marker yet; empty if there is none
 */
public record CoordinatorState(
        String transactionalId,
        TransactionState state,
        long producerId,
        short producerEpoch,
        Set<TopicPartition> partitions) {

    public CoordinatorState {
        partitions = Set.copyOf(partitions);
    }

    /** Returns whether the current transaction has not ended, or its markers are still being written. */
    boolean isOpen() {
        return switch (state) {
            case ONGOING, PREPARE_COMMIT, PREPARE_ABORT, PREPARE_EPOCH_FENCE -> true;
            case EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT, UNKNOWN -> false;
        };
    }
}
