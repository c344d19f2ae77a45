package dev.weir.processor.policy;

import dev.weir.definition.PolicyFold;
import dev.weir.fault.UnreadableException;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.wire.PolicyAvro;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Validates the records of the policies topic. A bad record is copied to the dead letters. The last good record of its
 * key is written back to the policies topic, so that it stays in force after a restart and is not removed by
 * compaction.
 *
 * <p>The processor reads what it wrote back, too. It equals the last good record, so it is not written again.
 */
public final class CheckPolicies implements Processor<byte[], byte[], byte[], byte[]> {

    private final PolicyAvro avro = new PolicyAvro();
    private final EnforcerMetrics metrics;
    private final String storeName;
    private final Outlets outlets;
    private ProcessorContext<byte[], byte[]> context;
    private DeadLetterForwarder rejections;
    private KeyValueStore<Bytes, byte[]> lastGood;

    /** The names of the nodes that receive the output. */
    public record Outlets(String policies, String deadLetters) {}

    /** @param storeName the store of the last good value of each key */
    public CheckPolicies(EnforcerMetrics metrics, String storeName, Outlets outlets) {
        this.metrics = metrics;
        this.storeName = storeName;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
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

    /** Returns the version of a stored value, 0 if there is none or this version of Weir cannot read it. */
    private long version(String key, byte[] value) {
        try {
            return value == null ? 0 : avro.decode(key, value).version();
        } catch (UnreadableException e) {
            return 0; // another version of Weir accepted it
        }
    }

    private void restore(Record<byte[], byte[]> bad, byte[] last) {
        if (last != null && !Arrays.equals(last, bad.value())) {
            context.forward(new Record<>(bad.key(), last, context.currentSystemTimeMs()), outlets.policies);
        }
    }
}
