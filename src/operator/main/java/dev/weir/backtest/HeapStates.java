package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.ReservationTable;
import dev.weir.decision.state.RetentionClock;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import java.util.HashMap;
import java.util.Map;

/** States on the heap, without a broker. Expired states are removed each time the map has doubled in size. */
public final class HeapStates implements WritablePolicyStates {

    private static final int FIRST_SWEEP = 10_000;
    private static final int EPOCH = 1_000;

    private final Map<StateKey, PolicyState> states = new HashMap<>();
    private final IdempotencyCache idempotencyCache;
    private final BoundedReservations reservations;
    private final long keepMs;
    private final RetentionClock recent = new RetentionClock(EPOCH);
    private int sweepAtSize = FIRST_SWEEP;
    private long requests;

    public HeapStates(WeirConfig.State config) {
        keepMs = config.retention().toMillis();
        idempotencyCache = IdempotencyCache.inMemory(config.most().idempotencyKeys(), keepMs);
        reservations = BoundedReservations.inMemory(config.most().reservations(), keepMs);
    }

    /**
     * Records a request's time. The earliest time of the last one to two thousand requests is the current time for the
     * removal of expired states.
     */
    public void observe(long timestampMs) {
        recent.observe(requests++, timestampMs);
        if (states.size() >= sweepAtSize) {
            long horizonMs = recent.earliestMs() - keepMs;
            states.values().removeIf(state -> state.expiresAtMs() <= horizonMs);
            sweepAtSize = Math.max(FIRST_SWEEP, 2 * states.size());
        }
    }

    /** Removes a state. */
    public void remove(StateKey key) {
        states.remove(key);
    }

    int size() {
        return states.size();
    }

    @Override
    public PolicyState get(StateKey key) {
        return states.get(key);
    }

    @Override
    public void put(StateKey key, PolicyState state) {
        states.put(key, state.isStored() ? state : state.stored(HeapSegments::store));
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
}
