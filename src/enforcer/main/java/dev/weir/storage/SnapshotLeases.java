package dev.weir.storage;

import dev.weir.decision.HeldLeases;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.RoundTripEstimator;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * What a task holds of shared quota, as its store has it, for dry runs.
 *
 * @param books of the task
 * @param policies in force
 * @param terms as they are configured
 */
public record SnapshotLeases(ReadOnlyKeyValueStore<Bytes, byte[]> books, PolicyTable policies, LeaseTerms terms)
        implements HeldLeases {

    @Override
    public LeaseBook book(StateKey key) {
        byte[] book = books.get(Bytes.wrap(KeyCodec.encode(key)));
        return book == null ? LeaseBook.empty() : LeaseCodec.decodeBook(book);
    }

    /** Not known here: who waits is decided soon. */
    @Override
    public boolean hasWaiting(StateKey key) {
        return false;
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        Policy policy = policies.latest(key.policyId());
        return policy == null ? terms : policy.terms(terms);
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
