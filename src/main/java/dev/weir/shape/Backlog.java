package dev.weir.shape;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongConsumer;

/** How much waits in all buckets of a queue together. */
final class Backlog {

    private final LongConsumer all;
    private final Map<String, Long> requestsByTier = new HashMap<>();
    private final TreeMap<Long, Integer> headsByTime = new TreeMap<>();
    private long requests;
    private long tokens;

    /** @param all receives each change of the number of waiting requests, negative if it falls */
    Backlog(LongConsumer all) {
        this.all = all;
    }

    /** Adds requests of a tier, or removes them if the numbers are negative. */
    void add(String tier, long moreRequests, long moreTokens) {
        requests += moreRequests;
        tokens += moreTokens;
        requestsByTier.merge(tier, moreRequests, (had, more) -> had + more == 0 ? null : (Long) (had + more));
        all.accept(moreRequests);
    }

    /** Adds the time at which the first request of a flow began to wait. */
    void addHead(long enqueuedAtMs) {
        headsByTime.merge(enqueuedAtMs, 1, Integer::sum);
    }

    /** Removes the time of a request that is no longer the first of its flow. */
    void removeHead(long enqueuedAtMs) {
        headsByTime.merge(enqueuedAtMs, -1, (had, less) -> had + less == 0 ? null : (Integer) (had + less));
    }

    /** When the one began to wait that has waited longest, ms since the epoch; null if nobody waits. */
    Long oldestEnqueuedAtMs() {
        return headsByTime.isEmpty() ? null : headsByTime.firstKey();
    }

    long requests() {
        return requests;
    }

    /** What they cost, as far as a {@link Crowd} counts it. */
    long tokens() {
        return tokens;
    }

    /** How many of each tier wait, of which any do, by tier. */
    Map<String, Long> requestsByTier() {
        return new TreeMap<>(requestsByTier);
    }
}
