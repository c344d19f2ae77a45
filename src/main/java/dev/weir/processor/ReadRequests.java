package dev.weir.processor;

import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** Reads records as requests; what is none goes to the dead letters as it came, with the reason in its headers. */
public final class ReadRequests implements Processor<byte[], byte[], byte[], Object> {

    private final RequestAvro avro;
    private final RequestRules rules;
    private final LiveCounts counts;
    private final String next;
    private final String deadLetters;
    private ProcessorContext<byte[], Object> context;

    /**
     * @param next the node that takes requests
     * @param deadLetters the node that takes the others
     */
    public ReadRequests(RequestAvro avro, RequestRules rules, LiveCounts counts, String next, String deadLetters) {
        this.avro = avro;
        this.rules = rules;
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
        long size = DeadLetter.bytes(record);
        if (size > DeadLetter.MAX_RECORD_BYTES) {
            String detail = "the record has " + size + " bytes, the most is " + DeadLetter.MAX_RECORD_BYTES;
            reject(DeadLetter.withoutBulk(record), metadata, Rejection.RECORD_TOO_LARGE, detail);
            return;
        }
        if (record.key() == null) {
            reject(record, metadata, Rejection.NO_KEY, "the record has no key");
            return;
        }
        Request request;
        try {
            Request.Source source = new Request.Source(metadata.partition(), metadata.offset());
            request = avro.decode(record.value(), record.timestamp(), source);
        } catch (UnreadableException e) {
            reject(record, metadata, e.rejection(), e.getMessage());
            return;
        }
        Optional<RequestRules.Violation> violation = rules.check(request);
        if (violation.isPresent()) {
            reject(
                    record,
                    metadata,
                    violation.get().rejection(),
                    violation.get().detail());
        } else if (!isUtf8(record.key(), request.client())) {
            reject(record, metadata, Rejection.KEY_IS_NOT_CLIENT, "the record's key is not its client");
        } else {
            context.forward(record.withValue(request), next);
        }
    }

    /** Whether the bytes are those of the text; while it is ASCII, without making them. */
    private static boolean isUtf8(byte[] bytes, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= 0x80) {
                return Arrays.equals(bytes, text.getBytes(StandardCharsets.UTF_8));
            }
            if (i >= bytes.length || bytes[i] != c) {
                return false;
            }
        }
        return bytes.length == text.length();
    }

    private void reject(Record<byte[], byte[]> record, RecordMetadata metadata, Rejection rejection, String detail) {
        counts.rejected(rejection);
        context.forward(DeadLetter.of(record, rejection, detail, metadata), deadLetters);
    }
}
