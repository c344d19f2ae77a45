package dev.weir.processor;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.requests.RecordOrigin;
import dev.weir.requests.RequestPlacement;
import dev.weir.requests.RequestReader;
import dev.weir.requests.ReservationCancellation;
import java.util.Optional;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Reads the records of the topic of routed requests, which have the timestamp of the original record. Requests and dead
 * letters contain the original partition and offset. A record whose origin cannot be read, or that is not in the
 * partition of its client, becomes a dead letter and is not routed again. The messages of queues about reservations,
 * {@link ReservationCancellation}, are on the same topic.
 */
public final class ReadRoutedRequests implements Processor<byte[], byte[], byte[], Object> {

    private final RequestReader reader;
    private final RequestPlacement placement;
    private final EnforcerMetrics metrics;
    private final String requests;
    private final Outlets outlets;
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;

    /**
     * The names of the nodes that receive the output.
     *
     * @param requests receives requests
     * @param deadLetters receives records that are not valid requests or are in the wrong partition
     */
    public record Outlets(String requests, String deadLetters) {}

    /** @param requests the name of the request topic, from which the records were routed */
    public ReadRoutedRequests(
            RequestReader reader,
            RequestPlacement placement,
            EnforcerMetrics metrics,
            String requests,
            Outlets outlets) {
        this.reader = reader;
        this.placement = placement;
        this.metrics = metrics;
        this.requests = requests;
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
        if (ReservationCancellation.isMarked(record.headers())) {
            cancel(record);
            return;
        }
        Optional<RecordOrigin> origin = RecordOrigin.read(record.headers());
        if (origin.isEmpty()) {
            String detail = "the last header of a routed request must be " + RecordOrigin.HEADER
                    + ", with the partition, offset and timestamp of the original record";
            rejections.reject(record, Rejection.INVALID_ROUTING, detail);
            return;
        }
        decide(original(record, origin.get()), origin.get().source(), metadata.partition());
    }

    private void cancel(Record<byte[], byte[]> record) {
        Optional<ReservationCancellation> cancellation =
                ReservationCancellation.read(record.key(), record.value(), record.headers());
        if (cancellation.isPresent()) {
            context.forward(record.withValue(new CancelledReservation(cancellation.get())), outlets.requests);
        } else {
            String detail = "a record with the last header " + ReservationCancellation.HEADER
                    + " must have the client as key, the requestId as value, and the number of the reservation there";
            rejections.reject(record, Rejection.INVALID_ROUTING, detail);
        }
    }

    /** Returns the record as it was before it was routed. */
    private static Record<byte[], byte[]> original(Record<byte[], byte[]> routed, RecordOrigin origin) {
        Headers headers = RecordOrigin.removeFrom(routed.headers());
        return new Record<>(origin.key(), routed.value(), origin.timestampMs(), headers);
    }

    private void decide(Record<byte[], byte[]> original, Request.Source source, int here) {
        Request request;
        try {
            request = reader.read(original.key(), original.value(), original.headers(), original.timestamp(), source);
        } catch (UnreadableException e) {
            rejections.reject(original, e.rejection(), e.getMessage(), requests, source);
            return;
        }
        byte[] client = RequestReader.utf8(request.client(), original.key());
        int partition = placement.partitionOf(client);
        if (partition == here) {
            RequestToDecide routed = new RequestToDecide(request, false);
            context.forward(new Record<>(client, routed, original.timestamp(), original.headers()), outlets.requests);
        } else {
            String detail = "the request was routed to partition " + here + ", but the client belongs in partition "
                    + partition;
            rejections.reject(original, Rejection.INVALID_ROUTING, detail, requests, source);
        }
    }
}
