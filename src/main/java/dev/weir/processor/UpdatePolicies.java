package dev.weir.processor;

import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Policy;
import dev.weir.shape.QueueRules;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts each policy and queue that is applied in force; of one that cannot be read, the version before stays. */
public final class UpdatePolicies implements Processor<String, byte[], Void, Void> {

    private static final Logger LOG = LoggerFactory.getLogger(UpdatePolicies.class);

    private final PolicyAvro avro = new PolicyAvro();
    private final LivePolicies policies;
    private final String storeName;
    private KeyValueStore<String, byte[]> store;

    public UpdatePolicies(LivePolicies policies, String storeName) {
        this.policies = policies;
        this.storeName = storeName;
    }

    /** Puts in force what was read into the store at start, past this processor. */
    @Override
    public void init(ProcessorContext<Void, Void> context) {
        store = context.getStateStore(storeName);
        try (KeyValueIterator<String, byte[]> all = store.all()) {
            while (all.hasNext()) {
                KeyValue<String, byte[]> entry = all.next();
                update(entry.key, entry.value);
            }
        }
    }

    @Override
    public void process(Record<String, byte[]> record) {
        if (record.key() != null && update(record.key(), record.value())) {
            store.put(record.key(), record.value());
        }
    }

    private boolean update(String key, byte[] value) {
        try {
            PolicyAvro.Key of = PolicyAvro.Key.read(key);
            PolicyAvro.Applied applied = value == null ? null : avro.decode(key, value);
            if (applied == null || applied.isDeleted()) {
                remove(of);
                return true;
            }
            String defined = put(applied);
            if (!defined.equals(applied.id())) {
                LOG.warn("the policies topic's record for {} is not in force: its definition is of {}", key, defined);
                return false;
            }
            return true;
        } catch (UnreadableException | FaultsException e) {
            LOG.warn("the policies topic's record for {} is not in force: {}", key, e.getMessage());
            return false;
        }
    }

    private void remove(PolicyAvro.Key of) {
        switch (of.kind()) {
            case POLICY -> policies.removePolicy(of.id());
            case QUEUE -> policies.removeQueue(of.id());
        }
    }

    /** Puts a definition in force if it is of the id under which it was applied; gives the id that it is of. */
    private String put(PolicyAvro.Applied applied) throws FaultsException {
        return switch (applied.kind()) {
            case POLICY -> {
                Policy policy = PolicyFile.parse(applied.key(), applied.definition(), applied.version());
                if (policy.id().equals(applied.id())) {
                    policies.put(policy);
                }
                yield policy.id();
            }
            case QUEUE -> {
                QueueRules rules = PolicyFile.parseQueue(applied.key(), applied.definition(), applied.version());
                if (rules.id().equals(applied.id())) {
                    policies.put(rules);
                }
                yield rules.id();
            }
        };
    }
}
