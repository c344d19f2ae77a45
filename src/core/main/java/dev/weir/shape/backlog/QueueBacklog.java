package dev.weir.shape.backlog;

import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongConsumer;

/**
 * The number of requests that wait in all buckets of a queue together. The times at which the first requests of all
 * flows were queued are counted in at most {@value #MAX_INTERVALS} intervals of equal length, 1 ms at first.
 */
public final class QueueBacklog {

    /** The most intervals in which heads are counted; beyond it, adjacent intervals are merged. */
    public static final int MAX_INTERVALS = 4_096;

    private final LongConsumer onWaiting;
    private final LongConsumer onInFlight;
    private final Map<String, Long> requestsByTier = new HashMap<>();
    private final TreeMap<Long, Integer> headsByTime = new TreeMap<>();
    private int intervalBits; // an interval is two to this power, in ms
    private long requests;
    private long tokens;
    private long retries;
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

    /** Adds released requests that their workers process, or removes them if the numbers are negative. */
    void addInFlight(String tier, long moreRequests, long moreSlots) {
        inFlight.add(tier, moreRequests, moreSlots);
        onInFlight.accept(moreRequests);
    }

    /** Adds a request that waits for another attempt, which {@link #add} counts too; or removes some. */
    void addRetries(long more) {
        retries += more;
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

    /** Adds the time at which the first request of a flow was queued. */
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

    /** Doubles the length of intervals until at most half of the permitted number is left. */
    private void mergeIntervals() {
        while (headsByTime.size() > MAX_INTERVALS / 2) {
            Map<Long, Integer> finer = Map.copyOf(headsByTime);
            headsByTime.clear();
            finer.forEach((time, heads) -> headsByTime.merge(time >> 1, heads, Integer::sum));
            intervalBits++;
        }
    }

    /**
     * Returns when the oldest waiting request was queued, in milliseconds since the epoch; null if none waits. It
     * is exact if the heads were queued in at most {@value #MAX_INTERVALS} different milliseconds. Otherwise it is
     * too early by at most a 1,024th of the longest time between the first and the last head since the backlog was
     * last empty.
     */
    public Long oldestEnqueuedAtMs() {
        return headsByTime.isEmpty() ? null : (Long) (headsByTime.firstKey() << intervalBits);
    }

    /** Returns the number of intervals in which heads are counted. */
    public int intervals() {
        return headsByTime.size();
    }

    public long requests() {
        return requests;
    }

    /** Returns the total cost, as counted by {@link QueueOccupancy}. */
    public long tokens() {
        return tokens;
    }

    /**
     * Returns the number of requests that wait in tiers of this priority or a higher one. Takes O(tiers of the rules).
     */
    public long requestsFrom(int priority, QueueRules rules) {
        long named = 0;
        long from = 0;
        for (Map.Entry<String, TierShare> tier : rules.tiers().entrySet()) {
            long ofTier = requestsByTier.getOrDefault(tier.getKey(), 0L);
            named += ofTier;
            from += tier.getValue().priority() >= priority ? ofTier : 0;
        }
        return from + (TierShare.DEFAULT.priority() >= priority ? requests - named : 0);
    }

    /** Returns the number of waiting requests of each tier that has any. */
    public Map<String, Long> requestsByTier() {
        return new TreeMap<>(requestsByTier);
    }
}
