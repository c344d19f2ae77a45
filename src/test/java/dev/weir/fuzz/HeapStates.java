package dev.weir.fuzz;

import dev.weir.limit.LogSegment;
import dev.weir.limit.Segments;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** States on the heap. */
final class HeapStates implements States {

    private final Map<StateKey, PolicyState> states = new HashMap<>();
    private final Map<List<Object>, LogSegment> segments = new HashMap<>();
    private final FirstAnswers firstAnswers = FirstAnswers.inMemory(1_000, 1_000);

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
        return new Segments() {
            @Override
            public LogSegment get(long number) {
                return segments.get(List.of(key, shelf, number));
            }

            @Override
            public void put(long number, LogSegment segment) {
                segments.put(List.of(key, shelf, number), segment);
            }

            @Override
            public void delete(long number) {
                segments.remove(List.of(key, shelf, number));
            }
        };
    }

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }
}
