package dev.weir.decision.state;

import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;

/** States for decisions that must not change them. Writes are discarded. */
public record ReadOnlyStates(PolicyStates states) implements WritablePolicyStates {

    @Override
    public PolicyState get(StateKey key) {
        return states.get(key);
    }

    @Override
    public IdempotencyCache.Entry firstAnswer(RequestKey key) {
        return states.firstAnswer(key);
    }

    @Override
    public ReservationTable reservations() {
        return new ReadOnlyReservations(states);
    }

    @Override
    public void put(StateKey key, PolicyState state) {}

    @Override
    public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {}
}
