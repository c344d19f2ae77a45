package dev.weir.policy;

import dev.weir.limit.Segments;

/** Where states are kept. Whoever decides for a key is alone with its states. */
public interface States {

    /** The state under a key, null if there is none. */
    PolicyState get(StateKey key);

    void put(StateKey key, PolicyState state);

    /** The full segments of the log in one slot of the state under a key. */
    Segments segments(StateKey key, int slot);

    /** The answers to requests that may be repeated. */
    FirstAnswers firstAnswers();
}
