package dev.weir.storage.snapshot;

import dev.weir.decision.state.lease.HeldLeases;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.RoundTripEstimator;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.storage.codec.LeaseCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * The leases of a task as of its last commit, for dry runs.
 *
 * @param books the store of the task's lease books
 * @param policies the policies in force
 * @param terms the configured terms
 */
public record SnapshotLeases(ReadOnlyKeyValueStore<Bytes, byte[]> books, PolicyTable policies, LeaseTerms terms)
        implements HeldLeases {

    @Override
    public LeaseBook book(StateKey key) {
        byte[] book = books.get(Bytes.wrap(KeyCodec.encode(key)));
        return book == null ? LeaseBook.empty() : LeaseCodec.decodeBook(book);
    }

    /** Returns false: the store does not contain waiting requests, which are decided soon. */
    @Override
    public boolean hasWaiting(StateKey key) {
        return false;
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        Policy policy = policies.latest(key.policyId());
        return policy == null ? terms : policy.leaseTerms(terms);
    }

    @Override
    public long roundTripMs() {
        return 0;
    }

    @Override
    public long leaseWaitMs() {
        return RoundTripEstimator.MAX_WAIT_MS;
    }
}
