package dev.weir.decision;

import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.limit.MapSegments;
import dev.weir.limit.SegmentedState;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** States in memory that count writes. */
public final class MapStates implements WritablePolicyStates {

    private record LogKey(StateKey key, int logId) {}

    private final Map<StateKey, PolicyState> byKey = new HashMap<>();
    private final Map<LogKey, MapSegments> segmentStores = new HashMap<>();
    private final IdempotencyCache idempotencyCache;
    private final BoundedReservations reservations;
    private int puts;

    public MapStates() {
        this(IdempotencyCache.inMemory(1_000_000, 3_600_000));
    }

    public MapStates(IdempotencyCache idempotencyCache) {
        this(idempotencyCache, BoundedReservations.inMemory(1_000_000, 3_600_000));
    }

    public MapStates(IdempotencyCache idempotencyCache, BoundedReservations reservations) {
        this.idempotencyCache = idempotencyCache;
        this.reservations = reservations;
    }

    /** Returns states that keep at most so many reservations. */
    static MapStates withReservations(int most, long lateMs) {
        return new MapStates(
                IdempotencyCache.inMemory(1_000_000, 3_600_000), BoundedReservations.inMemory(most, lateMs));
    }

    @Override
    public BoundedReservations reservations() {
        return reservations;
    }

    @Override
    public PolicyState get(StateKey key) {
        return byKey.get(key);
    }

    @Override
    public void put(StateKey key, PolicyState state) {
        puts++;
        byKey.put(key, stored(key, state));
    }

    private PolicyState stored(StateKey key, PolicyState state) {
        return state.stored(log -> segments(key, log).store(log));
    }

    private MapSegments segments(StateKey key, SegmentedState log) {
        return segmentStores.computeIfAbsent(new LogKey(key, log.id()), id -> new MapSegments());
    }

    @Override
    public IdempotencyCache.Entry firstAnswer(RequestKey key) {
        return idempotencyCache.get(key);
    }

    @Override
    public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
        idempotencyCache.put(key, content, answer, atMs, untilMs);
    }

    public int puts() {
        return puts;
    }

    public Map<StateKey, PolicyState> all() {
        return byKey;
    }

    /** Returns the state of a client for one policy without further key fields. */
    PolicyState of(String client, String policyId) {
        return byKey.get(new StateKey(client, policyId, List.of()));
    }

    /** Returns the number of full segments of all logs. */
    int segments() {
        return segmentStores.values().stream().mapToInt(MapSegments::size).sum();
    }

    /** Deletes a state step by step, as for one that has expired. Returns how many steps it took. */
    int purge(StateKey key) {
        int rounds = 1;
        PolicyState left = stored(key, byKey.get(key).purge());
        while (!left.isPurged()) {
            rounds++;
            left = stored(key, left.purge());
        }
        byKey.remove(key);
        return rounds;
    }
}
