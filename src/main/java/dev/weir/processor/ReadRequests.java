package dev.weir.processor;

import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** Reads records as requests; what is none goes to the dead letters as it came, with the reason in its headers. */
public final class ReadRequests implements Processor<byte[], byte[], byte[], Object> {

    private final RequestReader reader;
    private final LiveCounts counts;
    private final String next;
    private final String deadLetters;
    private ProcessorContext<byte[], Object> context;

    /**
     * @param next the node that takes requests
     * @param deadLetters the node that takes the others
     */
    public ReadRequests(RequestAvro avro, RequestRules rules, LiveCounts counts, String next, String deadLetters) {
        reader = new RequestReader(avro, rules);
        this.counts = counts;
        this.next = next;
        this.deadLetters = deadLetters;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        Request.Source source = new Request.Source(metadata.partition(), metadata.offset());
        Request request;
        try {
            request = reader.read(record.key(), record.value(), record.headers(), record.timestamp(), source);
        } catch (UnreadableException e) {
            reject(record, metadata, e);
            return;
        }
        context.forward(record.withValue(request), next);
    }

    private void reject(Record<byte[], byte[]> record, RecordMetadata metadata, UnreadableException e) {
        Rejection rejection = e.rejection();
        Record<byte[], byte[]> kept = rejection == Rejection.RECORD_TOO_LARGE ? DeadLetter.withoutBulk(record) : record;
        counts.rejected(rejection);
        context.forward(DeadLetter.of(kept, rejection, e.getMessage(), metadata), deadLetters);
    }
}
