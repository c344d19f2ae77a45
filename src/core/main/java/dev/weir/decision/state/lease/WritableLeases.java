package dev.weir.decision.state.lease;

import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;

/** The leases of shared limits that a process holds, for decisions that use them. */
public interface WritableLeases extends HeldLeases {

    void put(StateKey key, LeaseBook book);

    /**
     * Records unmet demand: a request needs more of a key than is available. A lease is then requested, whether the
     * request waits or not.
     */
    void recordUnmetDemand(StateKey key, long cost);

    /** Records the question whether the ledger would lend {@code cost}. It is then asked, whether a request waits or not. */
    void recordQuestion(StateKey key, long cost);

    /** Frees the usage of a key, by all its holders: the ledger receives the message in the same transaction. */
    void reset(StateKey key);
}
