package dev.weir.shape.backlog;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongConsumer;

/**
 * How much waits in all buckets of a queue together. The times at which the first requests of all flows began to wait
 * are counted in at most {@value #MAX_INTERVALS} intervals, of 1 ms each or of as many as it takes.
 */
public final class QueueBacklog {

    /** In how many intervals the heads are counted at most; if there are more, neighbours are merged. */
    public static final int MAX_INTERVALS = 4_096;

    private final LongConsumer onChange;
    private final Map<String, Long> requestsByTier = new HashMap<>();
    private final TreeMap<Long, Integer> headsByTime = new TreeMap<>();
    private int intervalBits; // an interval is two to this power, in ms
    private long requests;
    private long tokens;

    /** @param all receives each change of the number of waiting requests, negative if it falls */
    public QueueBacklog(LongConsumer all) {
        this.onChange = all;
    }

    /** Adds requests of a tier, or removes them if the numbers are negative. */
    void add(String tier, long moreRequests, long moreTokens) {
        requests += moreRequests;
        tokens += moreTokens;
        requestsByTier.merge(tier, moreRequests, (had, more) -> had + more == 0 ? null : (Long) (had + more));
        onChange.accept(moreRequests);
    }

    /** Adds the time at which the first request of a flow began to wait. */
    public void addHead(long enqueuedAtMs) {
        headsByTime.merge(enqueuedAtMs >> intervalBits, 1, Integer::sum);
        if (headsByTime.size() > MAX_INTERVALS) {
            mergeIntervals();
        }
    }

    /** Removes the time of a request that is no longer the first of its flow. */
    public void removeHead(long enqueuedAtMs) {
        headsByTime.merge(
                enqueuedAtMs >> intervalBits, -1, (had, less) -> had + less == 0 ? null : (Integer) (had + less));
        if (headsByTime.isEmpty()) {
            intervalBits = 0;
        }
    }

    /** Makes the intervals twice as long until there are half as many as there may be. */
    private void mergeIntervals() {
        while (headsByTime.size() > MAX_INTERVALS / 2) {
            Map<Long, Integer> finer = Map.copyOf(headsByTime);
            headsByTime.clear();
            finer.forEach((time, heads) -> headsByTime.merge(time >> 1, heads, Integer::sum));
            intervalBits++;
        }
    }

    /**
     * When the one began to wait that has waited longest, ms since the epoch; null if nobody waits. Exact if the heads
     * began to wait in at most {@value #MAX_INTERVALS} different milliseconds; else too early by at most a 1,024th of
     * the longest time that there was between the first and the last since nobody waited.
     */
    public Long oldestEnqueuedAtMs() {
        return headsByTime.isEmpty() ? null : (Long) (headsByTime.firstKey() << intervalBits);
    }

    /** In how many intervals the heads are counted. */
    public int intervals() {
        return headsByTime.size();
    }

    public long requests() {
        return requests;
    }

    /** What they cost, as far as a {@link QueueOccupancy} counts it. */
    public long tokens() {
        return tokens;
    }

    /** How many of each tier wait, of which any do, by tier. */
    public Map<String, Long> requestsByTier() {
        return new TreeMap<>(requestsByTier);
    }
}
