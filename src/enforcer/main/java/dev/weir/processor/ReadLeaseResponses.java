package dev.weir.processor;

import dev.weir.fault.UnreadableException;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.storage.HolderNames;
import dev.weir.storage.LeaseKeys;
import dev.weir.wire.LeaseResponseAvro;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** Reads the responses of ledgers and forwards those to this task. Responses to other holders are ignored. */
public final class ReadLeaseResponses implements Processor<byte[], byte[], byte[], Object> {

    private final LeaseResponseAvro avro = new LeaseResponseAvro();
    private final EnforcerMetrics metrics;
    private final HolderNames holders;
    private final String next;
    private final String deadLetters;
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;

    /**
     * @param holders the names of this application's lease holders
     * @param next the node that receives responses
     * @param deadLetters the node that receives unreadable records
     */
    public ReadLeaseResponses(EnforcerMetrics metrics, HolderNames holders, String next, String deadLetters) {
        this.metrics = metrics;
        this.holders = holders;
        this.next = next;
        this.deadLetters = deadLetters;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, deadLetters);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata metadata = context.recordMetadata().orElseThrow();
        try {
            LeaseResponseAvro.Addressed addressed = avro.decode(record.value(), metadata.partition());
            if (addressed.holder().equals(holders.name(metadata.partition()))) {
                context.forward(
                        record.withValue(new LedgerResponse(LeaseKeys.read(record.key()), addressed.response())), next);
            }
        } catch (UnreadableException e) {
            rejections.reject(record, e);
        }
    }
}
