package dev.weir.transaction;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;

/**
 * Reads the batch with which an open transaction begins. Its epoch is that of the transaction; the leader of the
 * partition reports only that of the producer's last batch, which may be of a later transaction.
 */
final class FirstBatch {

    /** The last version of fetch requests that names topics. */
    private static final short VERSION = 12;

    private static final int MAX_WAIT_MS = 500;

    private FirstBatch() {}

    /**
     * Returns whether an open transaction begins with the epoch that the leader reports.
     *
     * @throws KafkaException if the batch cannot be read, for example because this user lacks READ on the topic
     */
    static boolean hasEpochOf(OpenTransaction open, Admin admin, WeirConfig config) {
        FetchRequest.PartitionData at = new FetchRequest.PartitionData(
                Uuid.ZERO_UUID,
                open.startOffset(),
                FetchRequest.INVALID_LOG_START_OFFSET,
                1, // the broker returns at least one batch
                Optional.empty());
        try {
            FetchResponse response = (FetchResponse) new BrokerConnection(KafkaSettings.admin(config))
                    .send(
                            PartitionLeader.of(admin, open.partition()),
                            FetchRequest.Builder.forConsumer(VERSION, MAX_WAIT_MS, 1, Map.of(open.partition(), at)));
            return hasEpochOf(open, response);
        } catch (UncheckedIOException e) {
            throw new KafkaException(e.getCause().getMessage(), e);
        }
    }

    private static boolean hasEpochOf(OpenTransaction open, FetchResponse response) {
        require(response.error());
        FetchResponseData.PartitionData found =
                response.data().responses().get(0).partitions().get(0);
        require(Errors.forCode(found.errorCode()));
        for (RecordBatch batch : FetchResponse.recordsOrFail(found).batches()) {
            if (batch.lastOffset() >= open.startOffset()) {
                return batch.producerId() == open.producerId() && batch.producerEpoch() == open.producerEpoch();
            }
        }
        return false;
    }

    private static void require(Errors error) {
        if (error != Errors.NONE) {
            throw error.exception();
        }
    }
}
