package dev.weir.decision;

import dev.weir.event.StateKey;
import dev.weir.limit.SegmentStore;
import dev.weir.policy.RequestKey;

/** The states of keys, as decisions and usage reports read them. No other thread changes them meanwhile. */
public interface PolicyStates {

    /** No key has a state, and no request was answered before. */
    PolicyStates NONE = new PolicyStates() {
        @Override
        public PolicyState get(StateKey key) {
            return null;
        }

        @Override
        public SegmentStore segments(StateKey key, int slot) {
            throw new IllegalStateException("no state is kept of " + key);
        }

        @Override
        public IdempotencyCache.Entry firstAnswer(RequestKey key) {
            return null;
        }
    };

    /** The state of a key, null if it has none. */
    PolicyState get(StateKey key);

    /**
     * The full segments of the log in one slot of the state of a key. What is written to them belongs to the state that
     * is {@linkplain WritablePolicyStates#put put} next; where states are only read, it must not be visible to others.
     */
    SegmentStore segments(StateKey key, int slot);

    /** The first answer to a request that may be repeated, null if there is none. It may have expired. */
    IdempotencyCache.Entry firstAnswer(RequestKey key);
}
