package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.limit.LogSegment;
import dev.weir.limit.Segments;
import dev.weir.policy.ContentHash;
import dev.weir.policy.FirstAnswer;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.PolicyState;
import dev.weir.policy.RecentTimes;
import dev.weir.policy.RequestKey;
import dev.weir.policy.StateKey;
import dev.weir.policy.WritablePolicyStates;
import java.util.HashMap;
import java.util.Map;

/** States on the heap, without a broker: those that say nothing any more go when the map has doubled. */
public final class MemoryStates implements WritablePolicyStates {

    private static final int FIRST_SWEEP = 10_000;
    private static final int EPOCH = 1_000;

    private final Map<StateKey, PolicyState> states = new HashMap<>();
    private final FirstAnswers firstAnswers;
    private final long keepMs;
    private final RecentTimes recent = new RecentTimes(EPOCH);
    private int sweepAtSize = FIRST_SWEEP;
    private long requests;

    public MemoryStates(WeirConfig.State config) {
        keepMs = config.forgetAfter().toMillis();
        firstAnswers = FirstAnswers.inMemory(config.maxRemembered(), keepMs);
    }

    /** Takes note of a request's time; the earliest of the last thousand or two is "now" for the sweep. */
    public void observe(long timestampMs) {
        recent.observe(requests++, timestampMs);
        if (states.size() >= sweepAtSize) {
            long horizonMs = recent.earliestMs() - keepMs;
            states.values().removeIf(state -> state.forgettableAtMs() <= horizonMs);
            sweepAtSize = Math.max(FIRST_SWEEP, 2 * states.size());
        }
    }

    /** Drops a state. */
    public void forget(StateKey key) {
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
        states.put(key, state);
    }

    /** A place for one log, which alone refers to it. */
    @Override
    public Segments segments(StateKey key, int shelf) {
        Map<Long, LogSegment> segments = new HashMap<>();
        return new Segments() {
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
        };
    }

    @Override
    public FirstAnswers.Entry firstAnswer(RequestKey key) {
        return firstAnswers.get(key);
    }

    @Override
    public void remember(RequestKey key, ContentHash content, FirstAnswer answer, long atMs, long untilMs) {
        firstAnswers.put(key, content, answer, atMs, untilMs);
    }
}
