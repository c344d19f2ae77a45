package dev.weir.simulation;

import dev.weir.config.WeirConfig;
import dev.weir.limit.LogSegment;
import dev.weir.limit.Segments;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import java.util.HashMap;
import java.util.Map;

/** States that are never forgotten, for the run that nothing disturbs. */
final class HeapStates implements States {

    private record Shelf(StateKey key, int number) {}

    private final Map<StateKey, PolicyState> states = new HashMap<>();
    private final Map<Shelf, Segments> shelves = new HashMap<>();
    private final FirstAnswers firstAnswers;

    HeapStates(WeirConfig.State config) {
        firstAnswers = FirstAnswers.inMemory(
                config.maxRemembered(), config.forgetAfter().toMillis());
    }

    @Override
    public PolicyState get(StateKey key) {
        return states.get(key);
    }

    @Override
    public void put(StateKey key, PolicyState state) {
        states.put(key, state);
    }

    @Override
    public Segments segments(StateKey key, int shelf) {
        return shelves.computeIfAbsent(new Shelf(key, shelf), s -> new HeapSegments());
    }

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }

    private static final class HeapSegments implements Segments {
        private final Map<Long, LogSegment> segments = new HashMap<>();

        @Override
        public LogSegment get(long number) {
            return segments.get(number);
        }

        @Override
        public void put(long number, LogSegment segment) {
            segments.put(number, segment);
        }

        @Override
        public void delete(long number) {
            segments.remove(number);
        }
    }
}
