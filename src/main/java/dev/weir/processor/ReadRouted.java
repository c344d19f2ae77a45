package dev.weir.processor;

import dev.weir.codec.UnreadableException;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import java.util.Optional;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Reads records of the topic of routed requests, whose time is that of the original record. Requests and dead letters name
 * the original partition and offset. A record whose origin cannot be read, or that is not in the partition of its client, is
 * a dead letter and is not routed again.
 */
public final class ReadRouted implements Processor<byte[], byte[], byte[], Object> {

    private final RequestReader reader;
    private final Placement placement;
    private final LiveCounts counts;
    private final String requests;
    private final Outlets outlets;
    private ProcessorContext<byte[], Object> context;

    /**
     * The nodes that take what comes out.
     *
     * @param requests takes requests
     * @param deadLetters takes records that are no requests, or are in the wrong partition
     */
    public record Outlets(String requests, String deadLetters) {}

    /** @param requests the name of the request topic, where the records were before */
    public ReadRouted(RequestReader reader, Placement placement, LiveCounts counts, String requests, Outlets outlets) {
        this.reader = reader;
        this.placement = placement;
        this.counts = counts;
        this.requests = requests;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        Optional<Origin> origin = Origin.read(record.headers())
                .filter(read -> placement.isAnother(read.source().partition(), metadata.partition()));
        if (origin.isEmpty()) {
            counts.rejected(Rejection.INVALID_ROUTING);
            String detail = "the last header of a routed request must be " + Origin.HEADER
                    + ", with another partition, the offset and the time of the original record";
            context.forward(DeadLetter.of(record, Rejection.INVALID_ROUTING, detail, metadata), outlets.deadLetters);
            return;
        }
        Headers headers = Origin.removeFrom(record.headers());
        decide(record.withHeaders(headers), origin.get(), metadata);
    }

    private void decide(Record<byte[], byte[]> record, Origin origin, RecordMetadata metadata) {
        Request request;
        try {
            // the key's size was checked in the original record
            request = reader.read(null, record.value(), record.headers(), origin.timestampMs(), origin.source());
        } catch (UnreadableException e) {
            reject(record, origin, e.rejection(), e.getMessage());
            return;
        }
        byte[] client = RequestReader.utf8(request.client(), record.key());
        int partition = placement.partitionOf(client);
        if (partition == metadata.partition()) {
            context.forward(new Record<>(client, request, origin.timestampMs(), record.headers()), outlets.requests);
        } else {
            reject(
                    record,
                    origin,
                    Rejection.INVALID_ROUTING,
                    "was routed to partition " + metadata.partition() + ", but the client belongs in " + partition);
        }
    }

    private void reject(Record<byte[], byte[]> record, Origin origin, Rejection rejection, String detail) {
        counts.rejected(rejection);
        context.forward(
                DeadLetter.of(record.withTimestamp(origin.timestampMs()), rejection, detail, requests, origin.source()),
                outlets.deadLetters);
    }
}
