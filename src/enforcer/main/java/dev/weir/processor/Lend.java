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

/** Keeps the ledgers of shared quota: lends to those who ask, and charges what they have used. */
public final class Lend implements Processor<byte[], byte[], byte[], Object> {

    /** When to ask again for quota of a policy that is not known here, or not any more. */
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

    /** The stores: ledgers, and the segments of their logs. */
    public record StoreNames(String ledgers, String segments) {}

    /** The nodes that take what comes out. */
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
                ledgers, this::forget, state.cleanupKeys(), state.retention().toMillis());
        if (cleaning != null) {
            cleaning.cancel(); // of a task that failed and is revived
        }
        cleaning = context.schedule(state.cleanupInterval(), PunctuationType.WALL_CLOCK_TIME, cleaner::run);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        StateKey key;
        LeaseRequestAvro.Addressed question;
        try {
            key = LeaseKeys.read(record.key());
            question = avro.decode(record.value());
        } catch (UnreadableException e) {
            rejections.reject(record, e);
            return;
        }
        long atMs = record.timestamp(); // the broker's clock, when it appended the record
        cleaner.observe(atMs);
        LeaseResponse response = respond(key, Bytes.wrap(record.key()), question.request(), atMs);
        if (response != null) {
            metrics.sent(new EnforcerMetrics.Leasing(key.policyId(), true, response instanceof LeaseResponse.Refused));
            context.forward(
                    new Record<>(
                            record.key(),
                            new LeaseResponseAvro.Addressed(
                                    response, question.request().holder(), question.partition()),
                            atMs),
                    outlets.leaseResponses);
        }
    }

    /** Null if nothing was requested. The ledger's clock decides which version of a policy is in force. */
    private LeaseResponse respond(StateKey key, Bytes storeKey, LeaseRequest ask, long atMs) {
        IntFunction<SegmentStore> shelves = logIds(storeKey);
        byte[] stored = ledgers.get(storeKey);
        PolicyLedger ledger = stored == null ? null : LeaseCodec.decodeLedger(stored, shelves);
        long nowMs = ledger == null ? atMs : Math.max(atMs, ledger.ledger().clockMs());
        Policy policy = policies.table().inForce(key.policyId(), nowMs);
        boolean isKnown = policy != null && policy.countsUnder(key);
        if (ledger == null && !isKnown) {
            return refuseUnknownPolicy(ask, atMs);
        }
        LeaseTerms terms = config.leases().terms();
        if (!isKnown) {
            LeaseRequest report = LeaseRequest.report(ask.holder(), ask.reports(), ask.settled());
            ledgers.put(storeKey, LeaseCodec.encode(ledger.handleReport(report, terms, atMs)));
            return refuseUnknownPolicy(ask, atMs);
        }
        ledger = ledger == null ? PolicyLedger.open(policy, nowMs, shelves) : ledger.migrateTo(policy, nowMs, shelves);
        PolicyLedger.Result answer = ledger.handle(ask, policy, policy.terms(terms), atMs);
        ledgers.put(storeKey, LeaseCodec.encode(answer.ledger()));
        return answer.response();
    }

    /** Null if nothing was requested. */
    private static LeaseResponse refuseUnknownPolicy(LeaseRequest ask, long atMs) {
        return ask.requestsLease() ? new LeaseResponse.Refused(ask.number(), atMs, RETRY_UNKNOWN_MS) : null;
    }

    /** Forgets a ledger, or a bounded part of it. */
    private void forget(Bytes key, byte[] ledger) {
        PolicyLedger left = LeaseCodec.decodeLedger(ledger, logIds(key));
        for (int i = 0; left != null && i < StoredStates.MAX_DELETES; i++) {
            left = left.purge();
        }
        ledgers.put(key, left == null ? null : LeaseCodec.encode(left));
    }

    private IntFunction<SegmentStore> logIds(Bytes key) {
        return shelf -> new StoredSegments(segments, key.get(), shelf, () -> {});
    }
}
