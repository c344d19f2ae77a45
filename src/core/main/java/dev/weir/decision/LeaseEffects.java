package dev.weir.decision;

import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;

/**
 * The leases of one key as a decision leaves them, and what it asks of their ledger. An immutable value: nothing changes
 * until the {@link Decider} {@linkplain #write writes} it.
 *
 * @param book the leases after the decision
 * @param unmetDemand the cost for which a lease is to be requested because too little is available; 0 for none
 * @param question the cost that a PEEK asks about; 0 for none
 * @param isReset whether all usage of the key is freed
 */
record LeaseEffects(LeaseBook book, long unmetDemand, long question, boolean isReset) {

    /** Returns leases that nothing has changed. */
    static LeaseEffects none(LeaseBook book) {
        return new LeaseEffects(book, 0, 0, false);
    }

    LeaseEffects with(LeaseBook next) {
        return new LeaseEffects(next, unmetDemand, question, isReset);
    }

    LeaseEffects withUnmetDemand(long cost) {
        return new LeaseEffects(book, cost, question, isReset);
    }

    LeaseEffects withQuestion(long cost) {
        return new LeaseEffects(book, unmetDemand, cost, isReset);
    }

    LeaseEffects reset() {
        return new LeaseEffects(book.reset(), unmetDemand, question, true);
    }

    /** Writes what differs from {@code before}, which is written. */
    @SuppressWarnings("ReferenceEquality") // an unchanged book is the same object
    void write(StateKey key, LeaseEffects before, WritableLeases leases) {
        if (question != before.question) {
            leases.recordQuestion(key, question);
        }
        if (isReset != before.isReset) {
            leases.reset(key);
        } else if (book != before.book) {
            leases.put(key, book);
        }
        if (unmetDemand != before.unmetDemand) {
            leases.recordUnmetDemand(key, unmetDemand);
        }
    }
}
