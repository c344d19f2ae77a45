package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.decision.IdempotencyCache;
import dev.weir.decision.PolicyState;
import dev.weir.decision.RecentTimes;
import dev.weir.decision.WritablePolicyStates;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.StateKey;
import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentStore;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import java.util.HashMap;
import java.util.Map;

/** States on the heap, without a broker: those that say nothing any more go when the map has doubled. */
public final class HeapStates implements WritablePolicyStates {

    private static final int FIRST_SWEEP = 10_000;
    private static final int EPOCH = 1_000;

    private final Map<StateKey, PolicyState> states = new HashMap<>();
    private final IdempotencyCache firstAnswers;
    private final long keepMs;
    private final RecentTimes recent = new RecentTimes(EPOCH);
    private int sweepAtSize = FIRST_SWEEP;
    private long requests;

    public HeapStates(WeirConfig.State config) {
        keepMs = config.retention().toMillis();
        firstAnswers = IdempotencyCache.inMemory(config.maxIdempotencyKeys(), keepMs);
    }

    /** Takes note of a request's time; the earliest of the last thousand or two is "now" for the sweep. */
    public void observe(long timestampMs) {
        recent.observe(requests++, timestampMs);
        if (states.size() >= sweepAtSize) {
            long horizonMs = recent.earliestMs() - keepMs;
            states.values().removeIf(state -> state.expiresAtMs() <= horizonMs);
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
    public SegmentStore segments(StateKey key, int shelf) {
        Map<Long, LogSegment> segments = new HashMap<>();
        return new SegmentStore() {
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
    public IdempotencyCache.Entry firstAnswer(RequestKey key) {
        return firstAnswers.get(key);
    }

    @Override
    public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
        firstAnswers.put(key, content, answer, atMs, untilMs);
    }
}
