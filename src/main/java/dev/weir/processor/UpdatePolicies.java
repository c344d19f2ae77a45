package dev.weir.processor;

import dev.weir.codec.AppliedRules;
import dev.weir.codec.OneLine;
import dev.weir.codec.UnreadableException;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts each policy and queue that is applied in force; of one that is not good, the last good one stays. At start, all
 * that is on the topic passes through here too.
 */
public final class UpdatePolicies implements Processor<String, byte[], Void, Void> {

    private static final Logger LOG = LoggerFactory.getLogger(UpdatePolicies.class);

    /** Of a key that is told, in characters. */
    private static final int MAX_KEY = 200;

    private final LivePolicies policies;
    private final String storeName;
    private KeyValueStore<String, byte[]> store;

    public UpdatePolicies(LivePolicies policies, String storeName) {
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
            return;
        }
        if (record.value() == null) {
            policies.remove(key);
            store.delete(key);
            return;
        }
        try {
            AppliedRules rules = AppliedRules.read(key, record.value(), policies.version(key));
            policies.put(rules);
            store.put(key, record.value());
            LOG.info(
                    "{} version {} is {}",
                    OneLine.of(key, MAX_KEY),
                    rules.applied().version(),
                    rules.applied().isDeleted() ? "deleted" : "applied");
        } catch (UnreadableException e) {
            LOG.warn(
                    "the policies topic's record for {} is not in force: {}", OneLine.of(key, MAX_KEY), e.getMessage());
        }
    }
}
