package dev.weir.processor;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.StateCodec;
import dev.weir.limit.Segments;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** States in two stores: the states themselves, of which some are on the heap, and the full segments of logs. */
final class StoreStates implements States {

    /** How many bounded parts of one state are forgotten in one visit. */
    static final int FORGETS_AT_ONCE = 100;

    private final HotStates states;
    private final KeyValueStore<Bytes, byte[]> segments;
    private final FirstAnswers firstAnswers;
    private final HotStates.Reader reader =
            (key, state, length) -> StateCodec.decode(state, length, shelf -> segments(key, shelf));
    private boolean hasChangedSegments;

    StoreStates(HotStates states, KeyValueStore<Bytes, byte[]> segments, FirstAnswers firstAnswers) {
        this.states = states;
        this.segments = segments;
        this.firstAnswers = firstAnswers;
    }

    @Override
    public PolicyState get(StateKey key) {
        return states.get(key, reader);
    }

    /** A log whose segments have changed is written with them: to those who read the stores they always go together. */
    @Override
    public void put(StateKey key, PolicyState state) {
        if (hasChangedSegments) {
            hasChangedSegments = false;
            states.putThrough(key, state);
        } else {
            states.put(key, state);
        }
    }

    @Override
    public Segments segments(StateKey key, int shelf) {
        return segments(KeyCodec.encode(key), shelf);
    }

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }

    /**
     * Forgets what an encoded state of the store under an encoded key holds, or a bounded part of it, unless it was changed
     * since; the sweep comes again.
     */
    void forget(Bytes key, byte[] state) {
        if (states.isNewer(key)) {
            return;
        }
        PolicyState left = reader.read(key.get(), state, state.length);
        for (int i = 0; left != null && i < FORGETS_AT_ONCE; i++) {
            left = left.forgotten();
        }
        hasChangedSegments = false;
        states.forget(key, left);
    }

    private Segments segments(byte[] stateKey, int shelf) {
        return new StoreSegments(segments, stateKey, shelf, () -> hasChangedSegments = true);
    }
}
