package dev.weir.processor;

import dev.weir.config.WeirConfig.MisplacedAction;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.requests.ProducerTimestamps;
import dev.weir.requests.RecordOrigin;
import dev.weir.requests.RequestPlacement;
import dev.weir.requests.RequestReader;
import java.time.Duration;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Reads the records of the request topic. A request of a client of this task is forwarded with the client as the key.
 * Any other request is misplaced: it is routed to its task or rejected, as configured. A record that is not a valid
 * request is rejected. Rejected records become dead letters with the reason in headers.
 */
public final class ReadRequests implements Processor<byte[], byte[], byte[], Object> {

    private final RequestReader reader;
    private final RequestPlacement placement;
    private final long maxAheadMs;
    private final EnforcerMetrics metrics;
    private final Outlets outlets;
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;

    /**
     * The names of the nodes that receive the output.
     *
     * @param requests receives requests that are decided in this partition
     * @param misplaced receives the records of requests that are decided in another partition
     * @param deadLetters receives rejected records
     */
    public record Outlets(String requests, String misplaced, String deadLetters) {}

    /** @param maxAhead how far ahead of this machine's clock a producer's timestamp may be */
    public ReadRequests(
            RequestReader reader,
            RequestPlacement placement,
            Duration maxAhead,
            EnforcerMetrics metrics,
            Outlets outlets) {
        this.reader = reader;
        this.placement = placement;
        maxAheadMs = maxAhead.toMillis();
        this.metrics = metrics;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        placement.partitions().read(metadata.partition());
        Request.Source source = new Request.Source(metadata.partition(), metadata.offset());
        boolean isStampedByProducer = ProducerTimestamps.takeMark(record.headers());
        Request request;
        try {
            request = reader.read(record.key(), record.value(), record.headers(), record.timestamp(), source);
            if (isStampedByProducer) {
                requireNotAhead(record.timestamp());
            }
        } catch (UnreadableException e) {
            rejections.reject(record, e);
            return;
        }
        byte[] client = RequestReader.utf8(request.client(), record.key());
        int partition = placement.partitionOf(client);
        if (partition == context.taskId().partition()) {
            RequestToDecide read = new RequestToDecide(request, source.partition() == partition);
            context.forward(new Record<>(client, read, record.timestamp(), record.headers()), outlets.requests);
            return;
        }
        metrics.misplaced();
        if (placement.action() == MisplacedAction.ROUTE) {
            RecordOrigin origin = new RecordOrigin(source, record.timestamp(), record.key());
            context.forward(
                    new Record<>(client, record.value(), record.timestamp(), origin.addTo(record.headers())),
                    outlets.misplaced);
        } else {
            rejections.reject(
                    record,
                    Rejection.MISPLACED,
                    "the client belongs in partition " + partition
                            + "; set partitioner=murmur2_random in the producer and use the client as the key");
        }
    }

    /**
     * Rejects timestamps in the future. A key's time never decreases, so one such record would have the client denied
     * until then.
     */
    private void requireNotAhead(long timestampMs) throws UnreadableException {
        long aheadMs = timestampMs - context.currentSystemTimeMs();
        if (aheadMs > maxAheadMs) {
            throw new UnreadableException(
                    Rejection.TIMESTAMP_AHEAD,
                    "timestamp is " + aheadMs + " ms ahead of Weir's clock; the maximum is " + maxAheadMs);
        }
    }
}
