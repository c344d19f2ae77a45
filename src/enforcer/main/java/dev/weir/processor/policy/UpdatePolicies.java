package dev.weir.processor.policy;

import dev.weir.definition.PolicyFold;
import dev.weir.fault.SafeText;
import dev.weir.wire.PolicyAvro;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies the records of the policies topic to the {@link PolicyRegistry}. If a record is bad, the last good one of its
 * key stays in force. At start, all records of the topic are applied. Runs on the global thread of Kafka Streams;
 * {@code Decide} reads the registry for each request.
 */
public final class UpdatePolicies implements Processor<String, byte[], Void, Void> {

    private static final Logger LOG = LoggerFactory.getLogger(UpdatePolicies.class);

    /** The most characters of a key in a log line. */
    private static final int MAX_KEY = 200;

    private final PolicyRegistry policies;
    private final String storeName;
    private KeyValueStore<String, byte[]> store;

    public UpdatePolicies(PolicyRegistry policies, String storeName) {
        this.policies = policies;
        this.storeName = storeName;
    }

    @Override
    public void init(ProcessorContext<Void, Void> context) {
        store = context.getStateStore(storeName);
    }

    @Override
    public void process(Record<String, byte[]> record) {
        String key = record.key();
        if (key == null) {
            return; // CheckPolicies rejects it
        }
        PolicyFold.Step step = policies.add(key, record.value());
        if (step instanceof PolicyFold.Step.Put put) {
            store.put(key, record.value());
            PolicyAvro.Applied applied = put.rules().applied();
            LOG.info(
                    "{} version {} is {}",
                    SafeText.of(key, MAX_KEY),
                    applied.version(),
                    applied.isDeleted() ? "deleted" : "applied");
        } else if (step instanceof PolicyFold.Step.Remove) {
            store.delete(key);
        } else if (step instanceof PolicyFold.Step.Reject reject) {
            LOG.warn(
                    "The record for {} on the policies topic was rejected: {}",
                    SafeText.of(key, MAX_KEY),
                    reject.fault().getMessage());
        }
    }
}
