package dev.weir.decision.state.lease;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;

/** Leases for decisions that must not change them. Writes are discarded. */
record ReadOnlyLeases(HeldLeases leases) implements WritableLeases {

    @Override
    public LeaseBook book(StateKey key) {
        return leases.book(key);
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return leases.hasWaiting(key);
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return leases.terms(key);
    }

    @Override
    public long roundTripMs() {
        return leases.roundTripMs();
    }

    @Override
    public long leaseWaitMs() {
        return leases.leaseWaitMs();
    }

    @Override
    public void put(StateKey key, LeaseBook book) {}

    @Override
    public void recordUnmetDemand(StateKey key, long cost) {}

    @Override
    public void recordQuestion(StateKey key, long cost) {}

    @Override
    public void reset(StateKey key) {}
}
