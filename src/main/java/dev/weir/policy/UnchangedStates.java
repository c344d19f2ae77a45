package dev.weir.policy;

import dev.weir.limit.Segments;

/** States that a decision reads, but does not change: its writes are discarded. */
record UnchangedStates(PolicyStates states) implements WritablePolicyStates {

    @Override
    public PolicyState get(StateKey key) {
        return states.get(key);
    }

    @Override
    public Segments segments(StateKey key, int slot) {
        return states.segments(key, slot);
    }

    @Override
    public FirstAnswers.Entry firstAnswer(RequestKey key) {
        return states.firstAnswer(key);
    }

    @Override
    public void put(StateKey key, PolicyState state) {}

    @Override
    public void remember(RequestKey key, ContentHash content, FirstAnswer answer, long atMs, long untilMs) {}
}
