package dev.weir.storage;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.ReservationTable;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Policy states in two stores: the states themselves, with a cache, and the full segments of logs. The idempotency cache
 * and the reservations have stores of their own.
 */
public final class StoredStates implements WritablePolicyStates {

    /** The maximum number of parts of one state that are deleted at once. */
    public static final int MAX_DELETES = 100;

    private final WriteBackStore<StateKey, PolicyState> states;
    private final KeyValueStore<Bytes, byte[]> segments;
    private final PolicyStateCodec codec;
    private final IdempotencyCache idempotencyCache;
    private final ReservationTable reservations;

    public StoredStates(
            WriteBackStore<StateKey, PolicyState> states,
            KeyValueStore<Bytes, byte[]> segments,
            IdempotencyCache idempotencyCache,
            ReservationTable reservations) {
        this.states = states;
        this.segments = segments;
        codec = new PolicyStateCodec(segments);
        this.idempotencyCache = idempotencyCache;
        this.reservations = reservations;
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
        if (state.isStored()) {
            states.put(key, state);
        } else {
            states.putThrough(key, store(KeyCodec.encode(key), state));
        }
    }

    private PolicyState store(byte[] key, PolicyState state) {
        return state.stored(log -> StoredSegments.store(segments, key, log));
    }

    @Override
    public ReservationTable reservations() {
        return reservations;
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
        for (int i = 0; !left.isPurged() && i < MAX_DELETES; i++) {
            left = left.purge();
        }
        PolicyState stored = store(key.get(), left);
        if (stored.isPurged()) {
            states.deleteUnlessDirty(key);
        } else {
            states.replaceUnlessDirty(key, stored);
        }
    }
}
