package dev.weir.shape.backlog;

import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongConsumer;

/** The number of requests that wait, or are in flight, in all buckets of a queue together. */
public final class QueueBacklog {

    private final LongConsumer onWaiting;
    private final LongConsumer onInFlight;
    private final Map<String, Long> requestsByTier = new HashMap<>();
    private final Map<String, Long> retriesByTier = new HashMap<>();
    private final TimeCounts heads = new TimeCounts(); // when the first requests of all flows were queued
    private long requests;
    private long tokens;
    private long retries;
    private long scheduled;
    private final InFlightCounts inFlight = new InFlightCounts();

    /**
     * Creates an empty backlog.
     *
     * @param onWaiting receives each change of the number of waiting requests, negative if it falls
     * @param onInFlight receives each change of the number of requests in flight, negative if it falls
     */
    public QueueBacklog(LongConsumer onWaiting, LongConsumer onInFlight) {
        this.onWaiting = onWaiting;
        this.onInFlight = onInFlight;
    }

    /** Returns an empty backlog whose changes nobody receives. */
    public static QueueBacklog unobserved() {
        return new QueueBacklog(more -> {}, more -> {});
    }

    /** Adds requests of a tier, or removes them if the numbers are negative. */
    void add(String tier, long moreRequests, long moreTokens) {
        requests += moreRequests;
        tokens += moreTokens;
        InFlightCounts.add(tier, moreRequests, requestsByTier);
        onWaiting.accept(moreRequests);
    }

    /** Adds a released request that its worker processes; or removes it, if the sign is -1. */
    void addInFlight(String tier, long slots, long startedAtMs, int sign) {
        inFlight.add(tier, slots, startedAtMs, sign);
        onInFlight.accept(sign);
    }

    /** Adds a request that waits for another attempt, which {@link #add} counts too; or removes some. */
    void addRetries(String tier, long more) {
        retries += more;
        InFlightCounts.add(tier, more, retriesByTier);
    }

    /** Adds requests that wait for their time, or removes some. They have no tokens, and count for no tier. */
    void addScheduled(long more) {
        requests += more;
        scheduled += more;
        onWaiting.accept(more);
    }

    /** Returns the number of waiting requests that wait for their time. */
    public long scheduled() {
        return scheduled;
    }

    /** Returns the number of waiting requests that wait for another attempt. */
    public long retries() {
        return retries;
    }

    /** Returns the slots that the requests in flight of each tier occupy, for those that have any. */
    public Map<String, Long> slotsByTier() {
        return inFlight.slotsByTier();
    }

    /** Returns the number of released requests that their workers process. */
    public long inFlight() {
        return inFlight.requests();
    }

    /** Returns the slots that these occupy. */
    public long slots() {
        return inFlight.slots();
    }

    /** Returns when the oldest request in flight was released, in milliseconds since the epoch; null if there is none. */
    public Long oldestInFlightSinceMs() {
        return inFlight.oldestSinceMs();
    }

    /** Adds the time at which the first request of a flow was queued. */
    void addHead(long enqueuedAtMs) {
        heads.add(enqueuedAtMs);
    }

    /** Removes the time of a request that is no longer the first of its flow. */
    void removeHead(long enqueuedAtMs) {
        heads.remove(enqueuedAtMs);
    }

    /**
     * Returns when the oldest waiting request was queued, in milliseconds since the epoch, as exact as {@link TimeCounts}
     * are; null if none waits.
     */
    public Long oldestEnqueuedAtMs() {
        return heads.firstMs();
    }

    public long requests() {
        return requests;
    }

    /** Returns the total cost, as counted by {@link QueueOccupancy}. */
    public long tokens() {
        return tokens;
    }

    /**
     * Returns the number of requests that wait and that one of this priority cannot evict: those of tiers of its priority
     * or a higher one, and all that wait for their time or for another attempt. Takes O(tiers of the rules).
     */
    public long requestsFrom(int priority, QueueRules rules) {
        long lower = 0;
        long unnamed = requests - scheduled - retries;
        for (Map.Entry<String, TierShare> tier : rules.tiers().entrySet()) {
            long evictable =
                    requestsByTier.getOrDefault(tier.getKey(), 0L) - retriesByTier.getOrDefault(tier.getKey(), 0L);
            unnamed -= evictable;
            lower += tier.getValue().priority() < priority ? evictable : 0;
        }
        return requests - lower - (TierShare.DEFAULT.priority() < priority ? unnamed : 0);
    }

    /** Returns the number of waiting requests of each tier that has any. */
    public Map<String, Long> requestsByTier() {
        return new TreeMap<>(requestsByTier);
    }
}
