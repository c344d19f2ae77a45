package dev.weir.bench;

import dev.weir.limit.LogSegment;
import dev.weir.limit.Segments;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import java.util.HashMap;
import java.util.Map;

/** States on the heap, as a map has them. */
final class HeapStates implements States {

    private final Map<StateKey, PolicyState> states = new HashMap<>();
    private final FirstAnswers firstAnswers = FirstAnswers.inMemory(1, 1);

    @Override
    public PolicyState get(StateKey key) {
        return states.get(key);
    }

    @Override
    public void put(StateKey key, PolicyState state) {
        states.put(key, state);
    }

    @Override
    public Segments segments(StateKey key, int slot) {
        return new HeapSegments();
    }

    @Override
    public FirstAnswers firstAnswers() {
        return firstAnswers;
    }

    /** The full segments of one log. */
    static final class HeapSegments implements Segments {
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
