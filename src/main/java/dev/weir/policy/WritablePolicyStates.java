package dev.weir.policy;

/** The states of keys, for decisions that charge them. */
public interface WritablePolicyStates extends PolicyStates {

    void put(StateKey key, PolicyState state);

    /** Stores the first answer to a request; see {@link FirstAnswers#put}. */
    void remember(RequestKey key, ContentHash content, FirstAnswer answer, long atMs, long untilMs);
}
