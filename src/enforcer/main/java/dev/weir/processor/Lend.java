package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.PolicyLedger;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.SegmentStore;
import dev.weir.policy.Policy;
import dev.weir.storage.LeaseCodec;
import dev.weir.storage.LeaseKeys;
import dev.weir.storage.StateCleaner;
import dev.weir.storage.StoredSegments;
import dev.weir.storage.StoredStates;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.UnreadableException;
import java.util.function.IntFunction;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** Maintains the ledgers of shared limits: grants or refuses leases, and charges the usage that holders report. */
public final class Lend implements Processor<byte[], byte[], byte[], Object> {

    /** How long a holder waits before it repeats a request for a policy that is not in force here, or no longer. */
    private static final long RETRY_UNKNOWN_MS = 500;

    private final LeaseRequestAvro avro = new LeaseRequestAvro();
    private final PolicyRegistry policies;
    private final EnforcerMetrics metrics;
    private final WeirConfig config;
    private final StoreNames stores;
    private final Outlets outlets;
    private ProcessorContext<byte[], Object> context;
    private DeadLetterForwarder rejections;
    private KeyValueStore<Bytes, byte[]> ledgers;
    private KeyValueStore<Bytes, byte[]> segments;
    private StateCleaner cleaner;
    private Cancellable cleaning;

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
            PolicyRegistry policies, EnforcerMetrics counts, WeirConfig config, StoreNames stores, Outlets outlets) {
        this.policies = policies;
        this.metrics = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        rejections = new DeadLetterForwarder(context, metrics, outlets.deadLetters);
        ledgers = context.getStateStore(stores.ledgers);
        segments = context.getStateStore(stores.segments);
        WeirConfig.State state = config.state();
        cleaner = new StateCleaner(
                ledgers, this::purge, state.cleanupKeys(), state.retention().toMillis());
        if (cleaning != null) {
            cleaning.cancel(); // the task failed and is initialized again
        }
        cleaning = context.schedule(state.cleanupInterval(), PunctuationType.WALL_CLOCK_TIME, cleaner::run);
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
        long atMs = record.timestamp(); // the broker's time when it appended the record
        cleaner.observe(atMs);
        LeaseResponse response = respond(key, Bytes.wrap(record.key()), message.request(), atMs);
        if (response != null) {
            metrics.sent(new EnforcerMetrics.Leasing(
                    label(key.policyId(), atMs), EnforcerMetrics.LeaseMessage.of(response)));
            context.forward(
                    new Record<>(
                            record.key(),
                            new LeaseResponseAvro.Addressed(
                                    response, message.request().holder(), message.partition()),
                            atMs),
                    outlets.leaseResponses);
        }
    }

    /**
     * Handles a message of a holder by the version of the policy that is in force at the ledger's time.
     *
     * @return null if nothing was requested or asked
     */
    private LeaseResponse respond(StateKey key, Bytes storeKey, LeaseRequest request, long atMs) {
        IntFunction<SegmentStore> segmentStores = segmentStores(storeKey);
        byte[] stored = ledgers.get(storeKey);
        PolicyLedger ledger = stored == null ? null : LeaseCodec.decodeLedger(stored, segmentStores);
        long nowMs = ledger == null ? atMs : Math.max(atMs, ledger.ledger().clockMs());
        Policy policy = policies.table().inForce(key.policyId(), nowMs);
        boolean isKnown = policy != null && policy.countsUnder(key);
        if (ledger == null && !isKnown) {
            return refuseUnknownPolicy(request, atMs);
        }
        LeaseTerms terms = config.leases().terms();
        if (!isKnown) {
            LeaseRequest report = LeaseRequest.report(request.holder(), request.reports(), request.settled());
            ledgers.put(storeKey, LeaseCodec.encode(ledger.handleReport(report, terms, atMs)));
            return refuseUnknownPolicy(request, atMs);
        }
        PolicyLedger now = ledger == null
                ? PolicyLedger.open(policy, nowMs, segmentStores)
                : ledger.migrateTo(policy, nowMs, segmentStores);
        PolicyLedger.Result result = now.handle(request, policy, policy.terms(terms), atMs, segmentStores);
        if (ledger != null
                || request.requestsLease()
                || request.settled() > 0) { // a question about nothing stores nothing
            ledgers.put(storeKey, LeaseCodec.encode(result.ledger()));
        }
        return result.response();
    }

    /**
     * Returns the label of a policy in metrics. Any writer of requests can invent policies, which must hide no other.
     */
    private String label(String policy, long atMs) {
        return policies.table().inForce(policy, atMs) == null ? EnforcerMetrics.OTHER : policy;
    }

    /** @return null if nothing was requested or asked */
    private static LeaseResponse refuseUnknownPolicy(LeaseRequest request, long atMs) {
        return request.requestsLease()
                ? new LeaseResponse.Refused(request.number(), atMs, 0, RETRY_UNKNOWN_MS, false)
                : request.isCheck()
                        ? new LeaseResponse.Checked(request.number(), atMs, 0, RETRY_UNKNOWN_MS, false)
                        : null;
    }

    /** Deletes a ledger, or as much of it as the bound on deletes permits. */
    private void purge(Bytes key, byte[] ledger) {
        PolicyLedger left = LeaseCodec.decodeLedger(ledger, segmentStores(key));
        for (int i = 0; left != null && i < StoredStates.MAX_DELETES; i++) {
            left = left.purge();
        }
        ledgers.put(key, left == null ? null : LeaseCodec.encode(left));
    }

    private IntFunction<SegmentStore> segmentStores(Bytes key) {
        return logId -> new StoredSegments(segments, key.get(), logId, () -> {});
    }
}
