package dev.weir.decision;

import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;

/**
 * The leases that one holder of a model has of the only shared key.
 *
 * @param <T> what waits for a lease
 */
abstract class OneKeyLeases<T> implements WritableLeases {

    LeaseSession session;
    LeaseHolder<T> holder;

    @Override
    public LeaseBook book(StateKey of) {
        return holder.book();
    }

    @Override
    public void put(StateKey of, LeaseBook book) {
        holder.setBook(book);
    }

    @Override
    public void recordUnmetDemand(StateKey of, long cost) {
        holder.recordUnmetDemand(cost);
    }

    @Override
    public void recordQuestion(StateKey of, long cost) {
        holder.recordQuestion(cost);
    }

    @Override
    public void reset(StateKey of) {
        holder.reset();
    }

    @Override
    public boolean hasWaiting(StateKey of) {
        return holder.hasWaiting();
    }

    @Override
    public LeaseTerms terms(StateKey of) {
        return holder.terms();
    }

    @Override
    public long roundTripMs() {
        return session.roundTrip().smoothedMs();
    }

    @Override
    public long leaseWaitMs() {
        return 300;
    }
}
