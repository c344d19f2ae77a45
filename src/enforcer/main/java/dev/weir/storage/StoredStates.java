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

/** Policy states in two stores: the states themselves, with a cache, and the full segments of logs. */
public final class StoredStates implements WritablePolicyStates {

    /** The maximum number of parts of one state that are deleted at once. */
    public static final int MAX_DELETES = 100;

    private final WriteBackStore<StateKey, PolicyState> states;
    private final PolicyStateCodec codec;
    private final IdempotencyCache idempotencyCache;
    private boolean hasChangedSegments;

    public StoredStates(
            WriteBackStore<StateKey, PolicyState> states,
            KeyValueStore<Bytes, byte[]> segments,
            IdempotencyCache idempotencyCache) {
        this.states = states;
        codec = new PolicyStateCodec(segments, () -> hasChangedSegments = true);
        this.idempotencyCache = idempotencyCache;
        states.open(codec);
    }

    @Override
    public PolicyState get(StateKey key) {
        return states.read(key);
    }

    /**
     * Puts a state into the cache. If segments of its logs have changed, the state is written to the store at once, so
     * that readers of the stores see a state and its segments together.
     */
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
    public SegmentStore segments(StateKey key, int logId) {
        return codec.segments(KeyCodec.encode(key), logId);
    }

    @Override
    public IdempotencyCache.Entry firstAnswer(RequestKey key) {
        return idempotencyCache.get(key);
    }

    @Override
    public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
        idempotencyCache.put(key, content, answer, atMs, untilMs);
    }

    /**
     * Deletes a state by its encoded key and value, or as much of it as the bound on deletes permits. Does nothing if
     * the cache has a newer state. The cleaner repeats the call in its next scan.
     */
    public void purge(Bytes key, byte[] state) {
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
