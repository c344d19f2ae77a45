package dev.weir.transaction;

import java.util.Optional;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.common.TopicPartition;

/**
 * A transaction that is open in a partition, as the leader of the partition reports it.
 *
 * @param producerEpoch the epoch of its records; with {@code transaction.version} 2, each transaction has its own
 * @param coordinatorEpoch the epoch of the coordinator that wrote the producer's last marker to the partition; 0 if
 *     there is none
 * @param startOffset the offset of its first record
 * @param lastTimestamp the timestamp of its last record, in milliseconds
 */
public record OpenTransaction(
        TopicPartition partition,
        long producerId,
        short producerEpoch,
        int coordinatorEpoch,
        long startOffset,
        long lastTimestamp) {

    /** Returns the open transaction of a producer; empty if it has none. */
    static Optional<OpenTransaction> of(TopicPartition partition, ProducerState producer) {
        return producer.currentTransactionStartOffset().isPresent()
                ? Optional.of(new OpenTransaction(
                        partition,
                        producer.producerId(),
                        (short) producer.producerEpoch(),
                        producer.coordinatorEpoch().orElse(0),
                        producer.currentTransactionStartOffset().getAsLong(),
                        producer.lastTimestamp()))
                : Optional.empty();
    }

    /** Returns whether another observation shows the same transaction. It may have written more since. */
    public boolean isSame(OpenTransaction other) {
        return partition.equals(other.partition)
                && producerId == other.producerId
                && producerEpoch == other.producerEpoch
                && startOffset == other.startOffset;
    }

    @Override
    public String toString() {
        return "producer " + producerId + " epoch " + producerEpoch + " in " + partition + " since offset "
                + startOffset;
    }
}
