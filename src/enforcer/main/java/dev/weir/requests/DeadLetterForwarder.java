package dev.weir.requests;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.metrics.EnforcerMetrics;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Forwards rejected records to the dead letters, unchanged except for additional headers with the reason, and counts
 * them. Of a record that is too large, at most the key is forwarded.
 */
public final class DeadLetterForwarder {

    private final ProcessorContext<byte[], ? super byte[]> context;
    private final EnforcerMetrics metrics;
    private final String deadLetters;

    /** @param deadLetters the node that receives dead letters */
    public DeadLetterForwarder(
            ProcessorContext<byte[], ? super byte[]> context, EnforcerMetrics metrics, String deadLetters) {
        this.context = context;
        this.metrics = metrics;
        this.deadLetters = deadLetters;
    }

    /** Rejects the current record because it cannot be read. */
    public void reject(Record<byte[], byte[]> record, UnreadableException why) {
        reject(record, why.rejection(), why.getMessage());
    }

    /** Rejects the current record. */
    public void reject(Record<byte[], byte[]> record, Rejection rejection, String detail) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        Request.Source source = new Request.Source(metadata.partition(), metadata.offset());
        reject(record, rejection, detail, metadata.topic(), source);
    }

    /** Rejects a record that was read from another topic, partition or offset than the current one. */
    public void reject(
            Record<byte[], byte[]> record, Rejection rejection, String detail, String topic, Request.Source source) {
        metrics.rejected(rejection);
        context.forward(DeadLetterRecord.of(record, rejection, detail, topic, source), deadLetters);
    }
}
