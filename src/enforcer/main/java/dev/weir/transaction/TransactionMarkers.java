package dev.weir.transaction;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest.TxnMarkerEntry;
import org.apache.kafka.common.requests.WriteTxnMarkersResponse;

/**
 * Writes the missing marker of a transaction to a partition, with the request that the coordinator uses
 * ({@code WriteTxnMarkers}). {@link Admin#abortTransaction} sends the same request, but only for aborts.
 *
 * <p>The marker has the epoch of the transaction's records. A broker rejects it if the producer has written with a
 * newer epoch to the partition since, so a marker that is late, or written twice, does not end another transaction.
 */
final class TransactionMarkers {

    /** Markers of this version may have the epoch of the records (KIP-1228). */
    private static final short VERSION = 0;

    private TransactionMarkers() {}

    /**
     * Commits or aborts a transaction in its partition.
     *
     * @throws KafkaException if the broker rejects the marker, for example because the user lacks ALTER on the cluster,
     *     or does not respond
     */
    static void write(Admin admin, WeirConfig config, OpenTransaction open, boolean isCommitted) {
        TxnMarkerEntry marker = new TxnMarkerEntry(
                open.producerId(),
                open.producerEpoch(),
                open.coordinatorEpoch(),
                isCommitted ? TransactionResult.COMMIT : TransactionResult.ABORT,
                List.of(open.partition()),
                VERSION);
        BrokerConnection connection = new BrokerConnection(KafkaSettings.admin(config));
        try {
            WriteTxnMarkersResponse response = (WriteTxnMarkersResponse) connection.send(
                    PartitionLeader.of(admin, open.partition()), new WriteTxnMarkersRequest.Builder(List.of(marker)));
            requireWritten(open, response.errorsByProducerId());
        } catch (UncheckedIOException e) {
            throw new KafkaException(e.getCause().getMessage(), e);
        }
    }

    private static void requireWritten(OpenTransaction open, Map<Long, Map<TopicPartition, Errors>> errors) {
        Errors error = errors.getOrDefault(open.producerId(), Map.of())
                .getOrDefault(open.partition(), Errors.UNKNOWN_SERVER_ERROR);
        if (error != Errors.NONE) {
            throw error.exception();
        }
    }
}
