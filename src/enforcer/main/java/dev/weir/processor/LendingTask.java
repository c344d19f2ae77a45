package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.PolicyLedger;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Policy;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.storage.StateCleaner;
import dev.weir.storage.StoredSegments;
import dev.weir.storage.StoredStates;
import dev.weir.storage.codec.LeaseCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The ledgers of an open task. A ledger exists from the first lease of a key until it is purged long after the last.
 */
final class LendingTask {

    /** How long a holder waits before it repeats a request for a policy that is not in force here, or no longer. */
    private static final long RETRY_UNKNOWN_MS = 500;

    private final PolicyRegistry policies;
    private final LeaseTerms defaultTerms;
    private final KeyValueStore<Bytes, byte[]> ledgers;
    private final KeyValueStore<Bytes, byte[]> segments;
    private final StateCleaner cleaner;
    private final CleaningSchedule cleaning;

    /** Opens the task. */
    LendingTask(ProcessorContext<?, ?> context, PolicyRegistry policies, WeirConfig config, Lend.StoreNames stores) {
        this.policies = policies;
        defaultTerms = config.leases().terms();
        ledgers = context.getStateStore(stores.ledgers());
        segments = context.getStateStore(stores.segments());
        WeirConfig.State state = config.state();
        cleaner = new StateCleaner(
                ledgers, this::purge, state.cleanupKeys(), state.retention().toMillis());
        cleaning = new CleaningSchedule(
                context, state.cleanupInterval(), () -> cleaner.run(context.currentSystemTimeMs()), cleaner::dueMs);
    }

    /**
     * Handles a message of a holder by the version of the policy that is in force at the ledger's time.
     *
     * @param atMs the broker's time when it appended the message
     * @return null if nothing was requested or asked
     */
    LeaseResponse handle(StateKey key, LeaseRequest request, long atMs) {
        cleaner.observe(atMs);
        cleaning.plan();
        Bytes storeKey = Bytes.wrap(KeyCodec.encode(key));
        byte[] stored = ledgers.get(storeKey);
        PolicyLedger ledger = stored == null ? null : decode(storeKey, stored);
        long nowMs = ledger == null ? atMs : Math.max(atMs, ledger.ledger().clockMs());
        Policy policy = policies.table().inForce(key.policyId(), nowMs);
        boolean isKnown = policy != null && policy.countsUnder(key);
        if (ledger == null && !isKnown) {
            return refuseUnknownPolicy(request, atMs);
        }
        if (!isKnown) {
            LeaseRequest report = LeaseRequest.report(request.holder(), request.usage());
            store(storeKey, ledger.handleReport(report, defaultTerms, atMs));
            return refuseUnknownPolicy(request, atMs);
        }
        PolicyLedger now = ledger == null ? PolicyLedger.open(policy, nowMs) : ledger.migrateTo(policy, nowMs);
        PolicyLedger.Result result = now.handle(request, policy, policy.leaseTerms(defaultTerms), atMs);
        boolean isQuestion = !request.requestsLease() && request.settled() == 0;
        if (ledger != null || !isQuestion) { // a question about nothing stores nothing
            store(storeKey, result.ledger());
        }
        return result.response();
    }

    /** @return null if nothing was requested or asked */
    private static LeaseResponse refuseUnknownPolicy(LeaseRequest request, long atMs) {
        if (request.requestsLease()) {
            return new LeaseResponse.Refused(request.number(), atMs, 0, RETRY_UNKNOWN_MS, false);
        }
        return request.isCheck() ? new LeaseResponse.Checked(request.number(), atMs, 0, RETRY_UNKNOWN_MS, false) : null;
    }

    /** Deletes a ledger, or as much of it as the bound on deletes permits. */
    private void purge(Bytes key, byte[] ledger) {
        PolicyLedger left = decode(key, ledger);
        for (int i = 0; !left.isPurged() && i < StoredStates.MAX_DELETES; i++) {
            left = left.purge();
        }
        PolicyLedger stored = stored(key, left);
        ledgers.put(key, stored.isPurged() ? null : LeaseCodec.encode(stored));
    }

    private PolicyLedger decode(Bytes key, byte[] ledger) {
        return LeaseCodec.decodeLedger(ledger, logId -> new StoredSegments(segments, key.get(), logId));
    }

    private void store(Bytes key, PolicyLedger ledger) {
        ledgers.put(key, LeaseCodec.encode(stored(key, ledger)));
    }

    private PolicyLedger stored(Bytes key, PolicyLedger ledger) {
        return ledger.stored(log -> StoredSegments.store(segments, key.get(), log));
    }

    /** Stops the schedule, which would otherwise survive when a failed task is initialized again. */
    void stop() {
        cleaning.stop();
    }
}
