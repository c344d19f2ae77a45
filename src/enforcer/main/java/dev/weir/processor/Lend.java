package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.lease.LeaseResponse;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.storage.LeaseKeys;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** Passes the messages of holders to the ledgers of its {@link LendingTask}, and their responses back. */
public final class Lend implements Processor<byte[], byte[], byte[], Object> {

    private final LeaseRequestAvro avro = new LeaseRequestAvro();
    private final PolicyRegistry policies;
    private final EnforcerMetrics metrics;
    private final WeirConfig config;
    private final StoreNames stores;
    private final Outlets outlets;
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;
    private LendingTask task;

    /**
     * The names of the stores.
     *
     * @param ledgers the ledgers
     * @param segments the segments of their sliding-window logs
     */
    public record StoreNames(String ledgers, String segments) {}

    /** The names of the nodes that receive the output. */
    public record Outlets(String leaseResponses, String deadLetters) {}

    public Lend(
            PolicyRegistry policies, EnforcerMetrics metrics, WeirConfig config, StoreNames stores, Outlets outlets) {
        this.policies = policies;
        this.metrics = metrics;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
        if (task != null) {
            task.stop();
        }
        task = new LendingTask(context, policies, config, stores);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        StateKey key;
        LeaseRequestAvro.Addressed message;
        try {
            key = LeaseKeys.read(record.key());
            message = avro.decode(record.value());
        } catch (UnreadableException e) {
            rejections.reject(record, e);
            return;
        }
        LeaseResponse response = task.handle(key, message.request(), record.timestamp());
        if (response == null) {
            return;
        }
        metrics.sent(new EnforcerMetrics.Leasing(
                label(key.policyId(), record.timestamp()), EnforcerMetrics.LeaseMessage.of(response)));
        LeaseResponseAvro.Addressed addressed =
                new LeaseResponseAvro.Addressed(response, message.request().holder(), message.partition());
        context.forward(new Record<>(record.key(), addressed, record.timestamp()), outlets.leaseResponses);
    }

    /**
     * Returns the label of a policy in metrics. Any writer of requests can invent policies, which must hide no other.
     */
    private String label(String policy, long atMs) {
        return policies.table().inForce(policy, atMs) == null ? EnforcerMetrics.OTHER : policy;
    }
}
