package dev.weir.processor;

import dev.weir.definition.PolicyFold;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.UnreadableException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Sends each bad record of the policies topic to the dead letters, and writes the last good one of its key back to the
 * topic: so it is in force after a restart too, and compaction does not take it.
 *
 * <p>What is written back comes by here again, and is the last good one: nothing more is written.
 */
public final class CheckPolicies implements Processor<byte[], byte[], byte[], byte[]> {

    private final PolicyAvro avro = new PolicyAvro();
    private final EnforcerMetrics counts;
    private final String storeName;
    private final Outlets outlets;
    private ProcessorContext<byte[], byte[]> context;
    private DeadLetterForwarder rejections;
    private KeyValueStore<Bytes, byte[]> lastGood;

    /** The nodes that take what comes out. */
    public record Outlets(String policies, String deadLetters) {}

    /** @param storeName by key, the last good value */
    public CheckPolicies(EnforcerMetrics counts, String storeName, Outlets outlets) {
        this.counts = counts;
        this.storeName = storeName;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, counts, outlets.deadLetters);
        lastGood = context.getStateStore(storeName);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        Bytes key = record.key() == null ? null : Bytes.wrap(record.key());
        String text = key == null ? null : new String(record.key(), StandardCharsets.UTF_8);
        byte[] last = key == null ? null : lastGood.get(key);
        PolicyFold.Step step = PolicyFold.step(text, record.value(), version(text, last));
        if (step instanceof PolicyFold.Step.Reject reject) {
            rejections.reject(record, reject.fault());
            restore(record, last);
        } else if (step instanceof PolicyFold.Step.Remove) {
            lastGood.delete(key);
        } else if (!Arrays.equals(record.value(), last)) {
            lastGood.put(key, record.value());
        }
    }

    /** 0 if there is none. */
    private long version(String key, byte[] value) {
        try {
            return value == null ? 0 : avro.decode(key, value).version();
        } catch (UnreadableException e) {
            return 0; // it was good to another version of Weir
        }
    }

    private void restore(Record<byte[], byte[]> bad, byte[] last) {
        if (last != null && !Arrays.equals(last, bad.value())) {
            context.forward(new Record<>(bad.key(), last, context.currentSystemTimeMs()), outlets.policies);
        }
    }
}
