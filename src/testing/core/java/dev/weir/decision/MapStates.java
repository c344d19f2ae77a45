package dev.weir.decision;

import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.limit.MapSegments;
import dev.weir.limit.SegmentStore;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** States in memory, with a count of what is written. */
public final class MapStates implements WritablePolicyStates {

    private record Shelf(StateKey key, int slot) {}

    private final Map<StateKey, PolicyState> byKey = new HashMap<>();
    private final Map<Shelf, MapSegments> shelves = new HashMap<>();
    private final IdempotencyCache firstAnswers;
    private int puts;

    public MapStates() {
        this(IdempotencyCache.inMemory(1_000_000, 3_600_000));
    }

    public MapStates(IdempotencyCache firstAnswers) {
        this.firstAnswers = firstAnswers;
    }

    @Override
    public PolicyState get(StateKey key) {
        return byKey.get(key);
    }

    @Override
    public void put(StateKey key, PolicyState state) {
        puts++;
        byKey.put(key, state);
    }

    @Override
    public SegmentStore segments(StateKey key, int slot) {
        return shelves.computeIfAbsent(new Shelf(key, slot), shelf -> new MapSegments());
    }

    @Override
    public IdempotencyCache.Entry firstAnswer(RequestKey key) {
        return firstAnswers.get(key);
    }

    @Override
    public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
        firstAnswers.put(key, content, answer, atMs, untilMs);
    }

    int puts() {
        return puts;
    }

    Map<StateKey, PolicyState> all() {
        return byKey;
    }

    /** The state of the client that there is of one policy. */
    PolicyState of(String client, String policyId) {
        return byKey.get(new StateKey(client, policyId, List.of()));
    }

    /** All full segments that are stored, of all logs. */
    int segments() {
        return shelves.values().stream().mapToInt(MapSegments::size).sum();
    }

    /** Forgets a state, as one does when it is forgettable; says how many rounds it took. */
    int forget(StateKey key) {
        int rounds = 1;
        PolicyState left = byKey.get(key).purge();
        while (left != null) {
            rounds++;
            left = left.purge();
        }
        byKey.remove(key);
        return rounds;
    }
}
