package dev.weir.shape.total;

import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.TierScheduler;
import dev.weir.shape.backlog.TierShare;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The buckets of a queue with a total whose first request may leave soon by the pace of its own bucket, in the order in
 * which the total lets them leave: by the tier of that request, a higher priority first, tiers of one priority by
 * weight; in a tier, the bucket whose own pace has let it leave for longest. So the keys of a tier take turns, one
 * request each.
 */
public final class SlotContenders {

    /** No more tokens are assumed for a bucket that is not here. */
    private static final long MAX_ASSUMED_TOKENS = 1_000_000;

    private static final class TierContenders {
        final String tier;
        final TimerQueue<BucketId> soonestFirst = new TimerQueue<>();
        final TreeMap<Long, Integer> costs = new TreeMap<>();
        long tokens;

        TierContenders(String tier) {
            this.tier = tier;
        }
    }

    /** Tiers of a higher priority come first, then by name. */
    private record Rank(int priority, String tier) implements Comparable<Rank> {
        @Override
        public int compareTo(Rank other) {
            int byPriority = Integer.compare(other.priority, priority);
            return byPriority != 0 ? byPriority : tier.compareTo(other.tier);
        }
    }

    /** What a bucket contends for. */
    private record Entry(String tier, long cost, long tokens) {}

    private final Map<BucketId, Entry> entries = new HashMap<>();
    private final Map<String, TierContenders> byTier = new HashMap<>();
    private final TreeMap<Rank, TierContenders> byRank = new TreeMap<>();
    private final TreeMap<Rank, TierContenders> withSeveral = new TreeMap<>(); // the lanes in which more than one is
    private final Map<String, Long> coldByTier = new HashMap<>(); // how many more there are that are not on the heap
    private final TreeMap<Long, Integer> costs = new TreeMap<>(); // of all lanes
    private final TimerQueue<String> firsts = new TimerQueue<>(); // of all lanes
    private final TimerQueue<String> upcoming = new TimerQueue<>(); // of the lanes that the scheduler does not have
    private final TierScheduler scheduler;
    private Map<String, TierShare> shares;
    private long tokens;
    private long coldTotal;

    public SlotContenders(Map<String, TierShare> tiers) {
        this.shares = tiers;
        scheduler = new TierScheduler(tiers);
    }

    public void setShares(Map<String, TierShare> newTiers) {
        shares = newTiers;
        scheduler.setShares(newTiers);
        byRank.clear();
        withSeveral.clear();
        byTier.forEach((tier, lane) -> {
            byRank.put(rank(tier), lane);
            noteSize(lane);
        });
    }

    private void noteSize(TierContenders lane) {
        if (lane.soonestFirst.size() > 1) {
            withSeveral.put(rank(lane.tier), lane);
        } else {
            withSeveral.remove(rank(lane.tier));
        }
    }

    private Rank rank(String tier) {
        return new Rank(shares.getOrDefault(tier, TierShare.DEFAULT).priority(), tier);
    }

    /**
     * Adds a bucket, or changes its entry.
     *
     * @param tier of its first request
     * @param nanos when that may leave by the pace of the bucket
     * @param cost of it
     * @param tokens what the bucket could release soon, with it
     */
    public void put(BucketId bucket, String tier, long nanos, long cost, long tokens) {
        Entry before = entries.get(bucket);
        if (before != null && !before.tier.equals(tier)) {
            remove(bucket);
            before = null;
        }
        TierContenders lane = byTier.get(tier);
        if (lane == null) {
            lane = new TierContenders(tier);
            byTier.put(tier, lane);
            byRank.put(rank(tier), lane);
        }
        if (before != null) { // never away in between: a tier that goes away gives up what it is owed
            count(lane, before, -1);
        }
        Entry entry = new Entry(tier, cost, tokens);
        entries.put(bucket, entry);
        lane.soonestFirst.set(bucket, nanos);
        count(lane, entry, 1);
        setTimers(tier, lane);
        noteSize(lane);
    }

    public void remove(BucketId bucket) {
        Entry entry = entries.remove(bucket);
        if (entry == null) {
            return;
        }
        TierContenders lane = byTier.get(entry.tier);
        lane.soonestFirst.cancel(bucket);
        count(lane, entry, -1);
        setTimers(entry.tier, lane);
        noteSize(lane);
        removeIfEmpty(lane);
    }

    private void removeIfEmpty(TierContenders lane) {
        if (lane.soonestFirst.isEmpty() && !coldByTier.containsKey(lane.tier)) {
            byTier.remove(lane.tier);
            byRank.remove(rank(lane.tier));
            if (scheduler.isWaiting(lane.tier)) {
                scheduler.leave(lane.tier);
            }
        }
    }

    /** Adds an entry to the sums, or takes it from them if {@code by} is −1. */
    private void count(TierContenders lane, Entry entry, int by) {
        lane.tokens += by * entry.tokens;
        tokens += by * entry.tokens;
        for (TreeMap<Long, Integer> each : List.of(lane.costs, costs)) {
            each.merge(entry.cost, by, (had, more) -> had + more == 0 ? null : (Integer) (had + more));
        }
    }

    private void setTimers(String tier, TierContenders lane) {
        long nanos = lane.soonestFirst.firstNanos();
        firsts.set(tier, nanos);
        upcoming.set(tier, scheduler.isWaiting(tier) ? Long.MAX_VALUE : nanos);
    }

    /** The tier of the first request of a bucket; null if the bucket does not contend. */
    public String tier(BucketId bucket) {
        Entry entry = entries.get(bucket);
        return entry == null ? null : entry.tier;
    }

    /** When the first one of a tier may leave by its own pace; {@link Long#MAX_VALUE} if there is none. */
    public long firstNanos(String tier) {
        TierContenders lane = byTier.get(tier);
        return lane == null ? Long.MAX_VALUE : lane.soonestFirst.firstNanos();
    }

    /**
     * The buckets that are not needed soon: of the lowest tier in which there are several, those whose turn comes last.
     */
    public Iterable<BucketId> leastUrgent() {
        return withSeveral.isEmpty()
                ? List.of()
                : withSeveral.lastEntry().getValue().soonestFirst.latestFirst();
    }

    /** Records how many more buckets of a tier contend that are not here; the tier stays as long as there are any. */
    public void setColdCount(String tier, long number) {
        long more = number - coldByTier.getOrDefault(tier, 0L);
        if (more != 0) {
            coldTotal += more;
            coldByTier.merge(tier, more, (had, change) -> had + change == 0 ? null : (Long) (had + change));
        }
        if (number == 0 && byTier.containsKey(tier)) {
            removeIfEmpty(byTier.get(tier));
        }
    }

    /** The bucket that is to release next of those that may by their own pace until a time, null if none may. */
    public BucketId first(long untilNanos) {
        while (!upcoming.isEmpty() && upcoming.firstNanos() <= untilNanos) {
            scheduler.enter(upcoming.first());
            upcoming.cancel(upcoming.first());
        }
        for (String tier = scheduler.first(); tier != null; tier = scheduler.first()) {
            TimerQueue<BucketId> lane = byTier.get(tier).soonestFirst;
            if (lane.firstNanos() <= untilNanos) {
                return lane.first();
            }
            scheduler.leave(tier);
            upcoming.set(tier, lane.firstNanos());
        }
        return null;
    }

    /** Records that the bucket which was {@link #first} releases its first request; it is to be put or removed next. */
    public void served(BucketId bucket) {
        Entry entry = entries.get(bucket);
        scheduler.served(entry.tier, entry.cost, true);
    }

    /** When the first of them may leave by its own pace; {@link Long#MAX_VALUE} if there are none. */
    public long firstNanos() {
        return firsts.firstNanos();
    }

    /**
     * What they want, by tier, higher priorities first; tiers beyond a bound are counted with the last one. Those that
     * are not here are counted as if each wanted what one of its tier that is here wants.
     */
    public List<SlotReport.Demand> demands() {
        List<SlotReport.Demand> demands = new ArrayList<>();
        long moreKeys = entries.size();
        long moreParked = coldTotal;
        long moreTokens = tokens;
        for (TierContenders lane : byRank.values()) {
            if (demands.size() == SlotReport.MAX_DEMANDS - 1 && byRank.size() > SlotReport.MAX_DEMANDS) {
                demands.add(demand(lane.tier, moreKeys, moreParked, moreTokens, costs));
                break;
            }
            int keys = lane.soonestFirst.size();
            long parkedKeys = coldByTier.getOrDefault(lane.tier, 0L);
            demands.add(demand(lane.tier, keys, parkedKeys, lane.tokens, lane.costs));
            moreKeys -= keys;
            moreParked -= parkedKeys;
            moreTokens -= lane.tokens;
        }
        return demands;
    }

    private static SlotReport.Demand demand(
            String tier, long keys, long parkedKeys, long tokens, TreeMap<Long, Integer> costs) {
        long each = keys == 0 ? 1 : Math.min(tokens / keys, MAX_ASSUMED_TOKENS);
        long largestCost = costs.isEmpty() ? 1 : costs.lastKey();
        return new SlotReport.Demand(tier, keys + parkedKeys, tokens + parkedKeys * each, largestCost);
    }
}
