package dev.weir.decision.state;

import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;

/** The states of keys, for decisions that charge them. */
public interface WritablePolicyStates extends PolicyStates {

    /** Stores a state, and before it the segments that its logs have changed; see {@link PolicyState#stored}. */
    void put(StateKey key, PolicyState state);

    /** Returns the reservations of the task. */
    ReservationTable reservations();

    @Override
    default ReservationRecord reservation(RequestKey key) {
        return reservations().get(key);
    }

    @Override
    default boolean hasReservations() {
        return !reservations().isEmpty();
    }

    @Override
    default NextPlace nextPlace() {
        return reservations().nextPlace();
    }

    /** Stores the first answer to a request; see {@link IdempotencyCache#put}. */
    void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs);
}
