package dev.weir.storage;

import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.PolicyState;
import dev.weir.decision.WritablePolicyStates;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.limit.SegmentStore;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** States in two stores: the states themselves, of which some are on the heap, and the full segments of logs. */
public final class StoredStates implements WritablePolicyStates {

    /** How many bounded parts of one state are forgotten in one visit. */
    public static final int MAX_DELETES = 100;

    private final WriteBackStore<StateKey, PolicyState> states;
    private final PolicyStateCodec codec;
    private final IdempotencyCache firstAnswers;
    private boolean hasChangedSegments;

    public StoredStates(
            WriteBackStore<StateKey, PolicyState> states,
            KeyValueStore<Bytes, byte[]> segments,
            IdempotencyCache firstAnswers) {
        this.states = states;
        codec = new PolicyStateCodec(segments, () -> hasChangedSegments = true);
        this.firstAnswers = firstAnswers;
        states.open(codec);
    }

    @Override
    public PolicyState get(StateKey key) {
        return states.read(key);
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
    public SegmentStore segments(StateKey key, int shelf) {
        return codec.segments(KeyCodec.encode(key), shelf);
    }

    @Override
    public IdempotencyCache.Entry firstAnswer(RequestKey key) {
        return firstAnswers.get(key);
    }

    @Override
    public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
        firstAnswers.put(key, content, answer, atMs, untilMs);
    }

    /**
     * Forgets what an encoded state of the store under an encoded key holds, or a bounded part of it, unless it was
     * changed since; the sweep comes again.
     */
    public void forget(Bytes key, byte[] state) {
        if (states.isDirty(key)) {
            return;
        }
        PolicyState left = codec.decode(key.get(), state, state.length);
        for (int i = 0; left != null && i < MAX_DELETES; i++) {
            left = left.purge();
        }
        hasChangedSegments = false;
        if (left == null) {
            states.deleteUnlessDirty(key);
        } else {
            states.replaceUnlessDirty(key, left);
        }
    }
}
