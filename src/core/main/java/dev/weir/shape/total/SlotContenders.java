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
 * The buckets of a queue with a total whose own pace permits a release soon, in the order in which the total lets them
 * release: by the tier of their first request, higher priorities first and tiers of one priority by weight; within a
 * tier, the bucket whose own pace has permitted its release for longest. So the keys of a tier take turns, one request
 * each. An update or a release takes O(log n).
 */
public final class SlotContenders {

    /** The most tokens that are assumed for a bucket that is not on the heap. */
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

    /** Orders tiers by descending priority, then by name. */
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
    private final TreeMap<Rank, TierContenders> withSeveral = new TreeMap<>(); // the tiers with more than one bucket
    private final Map<String, Long> coldByTier = new HashMap<>(); // the numbers of contenders that are not on the heap
    private final TreeMap<Long, Integer> costs = new TreeMap<>(); // of all tiers
    private final TimerQueue<String> firsts = new TimerQueue<>(); // of all tiers
    private final TimerQueue<String> upcoming = new TimerQueue<>(); // of the tiers that the scheduler does not have
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
        byTier.forEach((tier, contenders) -> {
            byRank.put(rank(tier), contenders);
            noteSize(contenders);
        });
    }

    private void noteSize(TierContenders contenders) {
        if (contenders.soonestFirst.size() > 1) {
            withSeveral.put(rank(contenders.tier), contenders);
        } else {
            withSeveral.remove(rank(contenders.tier));
        }
    }

    private Rank rank(String tier) {
        return new Rank(shares.getOrDefault(tier, TierShare.DEFAULT).priority(), tier);
    }

    /**
     * Adds a bucket, or updates its entry.
     *
     * @param tier the tier of its first request
     * @param nanos when the pace of the bucket permits that request to leave
     * @param cost the cost of that request
     * @param tokens what the bucket could release soon, including that request
     */
    public void put(BucketId bucket, String tier, long nanos, long cost, long tokens) {
        Entry before = entries.get(bucket);
        if (before != null && !before.tier.equals(tier)) {
            remove(bucket);
            before = null;
        }
        TierContenders contenders = byTier.get(tier);
        if (contenders == null) {
            contenders = new TierContenders(tier);
            byTier.put(tier, contenders);
            byRank.put(rank(tier), contenders);
        }
        if (before != null) { // without removing the tier, which would lose its place in the scheduler
            count(contenders, before, -1);
        }
        Entry entry = new Entry(tier, cost, tokens);
        entries.put(bucket, entry);
        contenders.soonestFirst.set(bucket, nanos);
        count(contenders, entry, 1);
        setTimers(tier, contenders);
        noteSize(contenders);
    }

    public void remove(BucketId bucket) {
        Entry entry = entries.remove(bucket);
        if (entry == null) {
            return;
        }
        TierContenders contenders = byTier.get(entry.tier);
        contenders.soonestFirst.cancel(bucket);
        count(contenders, entry, -1);
        setTimers(entry.tier, contenders);
        noteSize(contenders);
        removeIfEmpty(contenders);
    }

    private void removeIfEmpty(TierContenders contenders) {
        if (contenders.soonestFirst.isEmpty() && !coldByTier.containsKey(contenders.tier)) {
            byTier.remove(contenders.tier);
            byRank.remove(rank(contenders.tier));
            if (scheduler.isWaiting(contenders.tier)) {
                scheduler.leave(contenders.tier);
            }
        }
    }

    /** Adds an entry to the sums, or subtracts it if {@code by} is −1. */
    private void count(TierContenders contenders, Entry entry, int by) {
        contenders.tokens += by * entry.tokens;
        tokens += by * entry.tokens;
        for (TreeMap<Long, Integer> each : List.of(contenders.costs, costs)) {
            each.merge(entry.cost, by, (had, more) -> had + more == 0 ? null : (Integer) (had + more));
        }
    }

    private void setTimers(String tier, TierContenders contenders) {
        long nanos = contenders.soonestFirst.firstNanos();
        firsts.set(tier, nanos);
        upcoming.set(tier, scheduler.isWaiting(tier) ? Long.MAX_VALUE : nanos);
    }

    /** Returns the tier of the first request of a bucket; null if the bucket does not contend. */
    public String tier(BucketId bucket) {
        Entry entry = entries.get(bucket);
        return entry == null ? null : entry.tier;
    }

    /** Returns when the first bucket of a tier may release by its own pace; {@link Long#MAX_VALUE} if there is none. */
    public long firstNanos(String tier) {
        TierContenders contenders = byTier.get(tier);
        return contenders == null ? Long.MAX_VALUE : contenders.soonestFirst.firstNanos();
    }

    /**
     * Returns the buckets that are not needed soon: in the lowest tier with several, by descending time of their turn.
     */
    public Iterable<BucketId> leastUrgent() {
        return withSeveral.isEmpty()
                ? List.of()
                : withSeveral.lastEntry().getValue().soonestFirst.latestFirst();
    }

    /**
     * Records how many buckets of a tier contend that are not on the heap. The tier is kept as long as there are any.
     */
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

    /**
     * Returns the bucket that releases next among those whose own pace permits it until {@code untilNanos}; null if
     * there is none.
     */
    public BucketId first(long untilNanos) {
        while (!upcoming.isEmpty() && upcoming.firstNanos() <= untilNanos) {
            String tier = upcoming.first();
            BucketId first = byTier.get(tier).soonestFirst.first();
            scheduler.enter(tier, entries.get(first).cost);
            upcoming.cancel(tier);
        }
        for (String tier = scheduler.first(); tier != null; tier = scheduler.first()) {
            TimerQueue<BucketId> soonest = byTier.get(tier).soonestFirst;
            if (soonest.firstNanos() <= untilNanos) {
                return soonest.first();
            }
            scheduler.leave(tier);
            upcoming.set(tier, soonest.firstNanos());
        }
        return null;
    }

    /**
     * Records that the bucket returned by {@link #first} releases its first request. It must be put or removed next.
     */
    public void served(BucketId bucket) {
        Entry entry = entries.get(bucket);
        scheduler.served(entry.tier, entry.cost, true);
    }

    /** Returns when the first bucket may release by its own pace; {@link Long#MAX_VALUE} if there are none. */
    public long firstNanos() {
        return firsts.firstNanos();
    }

    /**
     * Returns the demands by tier, higher priorities first; tiers beyond a bound are added to the last one. Buckets
     * that are not on the heap are assumed to need as much as the average of those on the heap in their tier.
     */
    public List<SlotReport.Demand> demands() {
        List<SlotReport.Demand> demands = new ArrayList<>();
        long moreKeys = entries.size();
        long moreParked = coldTotal;
        long moreTokens = tokens;
        for (TierContenders contenders : byRank.values()) {
            if (demands.size() == SlotReport.MAX_DEMANDS - 1 && byRank.size() > SlotReport.MAX_DEMANDS) {
                demands.add(demand(contenders.tier, moreKeys, moreParked, moreTokens, costs));
                break;
            }
            int keys = contenders.soonestFirst.size();
            long parkedKeys = coldByTier.getOrDefault(contenders.tier, 0L);
            demands.add(demand(contenders.tier, keys, parkedKeys, contenders.tokens, contenders.costs));
            moreKeys -= keys;
            moreParked -= parkedKeys;
            moreTokens -= contenders.tokens;
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
