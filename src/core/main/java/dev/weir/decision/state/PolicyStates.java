package dev.weir.decision.state;

import dev.weir.event.StateKey;
import dev.weir.policy.RequestKey;

/** The states of keys, as decisions and usage reports read them. No other thread may change them meanwhile. */
public interface PolicyStates {

    /** States without any entries. */
    PolicyStates NONE = new PolicyStates() {
        @Override
        public PolicyState get(StateKey key) {
            return null;
        }

        @Override
        public IdempotencyCache.Entry firstAnswer(RequestKey key) {
            return null;
        }
    };

    /** Returns the state of a key, null if it has none. */
    PolicyState get(StateKey key);

    /** Returns a reservation, null if there is none; see {@link ReservationTable#get}. By default, there are none. */
    default ReservationRecord reservation(RequestKey key) {
        return null;
    }

    /** Returns whether there may be reservations. By default, there are none. */
    default boolean hasReservations() {
        return false;
    }

    /** Returns when there is a place for one more reservation. By default, there is one. */
    default NextPlace nextPlace() {
        return NextPlace.FREE;
    }

    /** Returns the first answer to a request that may be repeated, null if there is none. It can be expired. */
    IdempotencyCache.Entry firstAnswer(RequestKey key);
}
