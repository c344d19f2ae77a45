package dev.weir.shape.total;

import dev.weir.shape.fair.KeyScheduler;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.timer.TimerQueue;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.shape.total.TotalReport.ClientKeys;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The buckets of a queue with a total whose own pace permits a release soon, in the order in which the total lets them
 * release. A bucket belongs to the tier of its first request. Tiers of higher priority are first, and tiers of one
 * priority share by weight. Within a tier, clients share evenly; within a client, its keys. Shares are counted in
 * tokens, not requests. While some
 * buckets of a tier contend that are not on the heap, those of the tier release in the order in which their own pace
 * permits it. An update or a release takes O(log n).
 */
public final class Contenders {

    /** The most buckets that are considered instead of one whose request does not fit. */
    private static final int MAX_OTHERS = 16;

    /** The most contenders that are considered one by one for a report. */
    private static final int MAX_LOOKS = 1_000;

    /** The most tokens that are assumed for a bucket that is not on the heap. */
    private static final long MAX_ASSUMED_TOKENS = 1_000_000;

    /**
     * What a bucket contends for.
     *
     * @param flow the tier and the client of its first request
     * @param turnNanos when the pace of the bucket permits that request to leave
     * @param cost the cost of that request
     * @param atOnce the tokens that its pace permits to leave at that time, including that request
     * @param tokens what the bucket could release soon, including {@code atOnce}
     */
    public record Contender(Flow flow, long turnNanos, long cost, long atOnce, long tokens) {}

    /** Orders tiers by descending priority, then by name. */
    private record Rank(int priority, String tier) implements Comparable<Rank> {
        @Override
        public int compareTo(Rank other) {
            int byPriority = Integer.compare(other.priority, priority);
            return byPriority != 0 ? byPriority : tier.compareTo(other.tier);
        }
    }

    private final Map<BucketId, Contender> contenders = new HashMap<>();
    private final Map<String, TierContenders> byTier = new HashMap<>();
    private final TreeMap<Rank, TierContenders> byRank = new TreeMap<>();
    private final TreeMap<Rank, TierContenders> withSeveral = new TreeMap<>(); // the tiers with more than one bucket
    private final TreeMap<Long, Integer> costs = new TreeMap<>(); // of all first requests
    private final Map<String, Long> coldByTier = new HashMap<>(); // the numbers of contenders that are not on the heap
    private final TimerQueue<String> firsts = new TimerQueue<>(); // of all tiers
    private final TimerQueue<BucketId> upcoming = new TimerQueue<>(); // those that the scheduler does not have
    private final KeyScheduler scheduler;
    private Map<String, TierShare> shares;
    private long schedulerNanos = Long.MIN_VALUE; // the scheduler has the contenders whose turn is not later

    public Contenders(Map<String, TierShare> tiers) {
        this.shares = tiers;
        scheduler = new KeyScheduler(tiers);
    }

    public void setShares(Map<String, TierShare> newTiers) {
        shares = newTiers;
        scheduler.setShares(newTiers);
        byRank.clear();
        withSeveral.clear();
        byTier.forEach((tier, of) -> {
            byRank.put(rank(tier), of);
            noteSize(of);
        });
    }

    /** Sets the weights of clients that have keys on other partitions too. */
    public void setClientWeights(List<TotalGrant.ClientWeight> weights) {
        Map<Flow, Long> byFlow = new HashMap<>();
        weights.forEach(each -> byFlow.put(each.flow(), each.weight()));
        scheduler.setClientWeights(byFlow);
    }

    private void noteSize(TierContenders tier) {
        if (tier.soonestFirst.size() > 1) {
            withSeveral.put(rank(tier.tier), tier);
        } else {
            withSeveral.remove(rank(tier.tier));
        }
    }

    private Rank rank(String tier) {
        return new Rank(shares.getOrDefault(tier, TierShare.DEFAULT).priority(), tier);
    }

    /** Adds a bucket, or updates its entry. */
    public void put(BucketId bucket, Contender contender) {
        Contender before = contenders.get(bucket);
        if (contender.equals(before)) {
            return;
        }
        boolean staysInTier = before != null && before.flow.tier().equals(contender.flow.tier());
        if (before != null && !staysInTier) {
            remove(bucket);
        }
        TierContenders tier = byTier.get(contender.flow.tier());
        if (tier == null) {
            tier = new TierContenders(contender.flow.tier());
            byTier.put(tier.tier, tier);
            byRank.put(rank(tier.tier), tier);
        }
        contenders.put(bucket, contender);
        countCost(contender.cost, 1);
        if (before != null && staysInTier) {
            countCost(before.cost, -1);
        }
        if (staysInTier) {
            tier.replace(before, contender);
        } else {
            tier.add(contender);
        }
        tier.soonestFirst.set(bucket, contender.turnNanos);
        firsts.set(tier.tier, tier.soonestFirst.firstNanos());
        noteSize(tier);
        boolean isInScheduler = staysInTier && !upcoming.contains(bucket);
        if (isInScheduler && before.flow.equals(contender.flow)) {
            return;
        }
        if (contender.turnNanos <= schedulerNanos) { // at once, so that its tier keeps its place if others leave
            upcoming.cancel(bucket);
            scheduler.enter(contender.flow, bucket, contender.cost);
        } else {
            upcoming.set(bucket, contender.turnNanos);
        }
        if (isInScheduler) {
            scheduler.leave(before.flow, bucket);
        }
    }

    private void countCost(long cost, int by) {
        costs.merge(cost, by, (had, more) -> had + more == 0 ? null : (Integer) (had + more));
    }

    public void remove(BucketId bucket) {
        Contender contender = contenders.remove(bucket);
        if (contender == null) {
            return;
        }
        countCost(contender.cost, -1);
        if (upcoming.contains(bucket)) {
            upcoming.cancel(bucket);
        } else {
            scheduler.leave(contender.flow, bucket);
        }
        TierContenders tier = byTier.get(contender.flow.tier());
        tier.soonestFirst.cancel(bucket);
        tier.remove(contender);
        firsts.set(tier.tier, tier.soonestFirst.firstNanos());
        noteSize(tier);
        removeIfEmpty(tier);
    }

    private void removeIfEmpty(TierContenders tier) {
        if (tier.soonestFirst.isEmpty() && !coldByTier.containsKey(tier.tier)) {
            byTier.remove(tier.tier);
            byRank.remove(rank(tier.tier));
        }
    }

    /** Returns what a bucket contends for; null if it does not contend. */
    public Contender get(BucketId bucket) {
        return contenders.get(bucket);
    }

    /** Returns the largest cost of a first request; 1 if no bucket contends. */
    public long largestCost() {
        return costs.isEmpty() ? 1 : costs.lastKey();
    }

    public boolean isEmpty() {
        return contenders.isEmpty() && coldByTier.isEmpty();
    }

    /** Returns when the first bucket of a tier may release by its own pace; {@link DueTime#NEVER} if there is none. */
    public long firstNanos(String tier) {
        TierContenders contending = byTier.get(tier);
        return contending == null ? DueTime.NEVER : contending.soonestFirst.firstNanos();
    }

    /** Returns the tokens that all buckets on the heap could release soon. */
    public long tokens() {
        return byTier.values().stream().mapToLong(TierContenders::tokens).sum();
    }

    /**
     * Returns the buckets that are not needed soon: in the lowest tier with several, by descending time of their turn.
     */
    public Iterable<BucketId> leastUrgent() {
        return withSeveral.isEmpty()
                ? List.of()
                : withSeveral.lastEntry().getValue().soonestFirst.latestFirst();
    }

    /** Returns the tiers with a lower priority, the lowest first. */
    public List<String> tiersBelow(int priority) {
        List<String> tiers = new ArrayList<>();
        for (Rank rank : byRank.descendingKeySet()) {
            if (rank.priority >= priority || tiers.size() == TotalReport.MAX_DEMANDS) {
                break;
            }
            tiers.add(rank.tier);
        }
        return tiers;
    }

    /** Returns the buckets of a tier, by descending time of their turn. */
    public Iterable<BucketId> latestOf(String tier) {
        TierContenders contending = byTier.get(tier);
        return contending == null ? List.of() : contending.soonestFirst.latestFirst();
    }

    /**
     * Records how many buckets of a tier contend that are not on the heap. The tier is kept as long as there are any.
     */
    public void setColdCount(String tier, long number) {
        long more = number - coldByTier.getOrDefault(tier, 0L);
        if (more != 0) {
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
        schedulerNanos = untilNanos;
        while (!upcoming.isEmpty() && upcoming.firstNanos() <= untilNanos) {
            BucketId bucket = upcoming.first();
            upcoming.cancel(bucket);
            Contender next = contenders.get(bucket);
            scheduler.enter(next.flow, bucket, next.cost);
        }
        for (BucketId bucket = scheduler.first(); bucket != null; bucket = scheduler.first()) {
            Contender contender = contenders.get(bucket);
            if (contender.turnNanos <= untilNanos) {
                String tier = contender.flow.tier();
                return coldByTier.containsKey(tier)
                        ? byTier.get(tier).soonestFirst.first()
                        : bucket;
            }
            scheduler.leave(contender.flow, bucket);
            upcoming.set(bucket, contender.turnNanos);
        }
        return null;
    }

    /**
     * Returns buckets that could release instead of the one that {@link #first} returned: of its tier, and the next
     * ones of other tiers.
     */
    public List<BucketId> insteadOf(BucketId first) {
        TierContenders tier = byTier.get(contenders.get(first).flow.tier());
        List<BucketId> others = new ArrayList<>();
        int looks = MAX_OTHERS;
        for (BucketId bucket : tier.soonestFirst.soonestFirst()) {
            if (contenders.get(bucket).turnNanos > schedulerNanos || looks-- == 0) {
                break;
            }
            others.add(bucket);
        }
        looks = MAX_OTHERS;
        for (TierContenders other : byRank.values()) {
            if (looks-- == 0) {
                break;
            }
            BucketId next = other == tier ? null : scheduler.first(other.tier);
            if (next != null && contenders.get(next).turnNanos <= schedulerNanos) {
                others.add(next);
            }
        }
        return others;
    }

    /**
     * Records that a bucket releases its first request: the one returned by {@link #first}, or one of
     * {@link #insteadOf}. The bucket contends for the same again until it is put or removed.
     */
    public void served(BucketId bucket) {
        Contender contender = contenders.get(bucket);
        scheduler.served(contender.flow, bucket, contender.cost);
    }

    /** Returns when the first bucket may release by its own pace; {@link DueTime#NEVER} if there are none. */
    public long firstNanos() {
        return firsts.firstNanos();
    }

    /**
     * Returns the demands by tier, higher priorities first; tiers beyond a bound are added to the last one. Buckets
     * that are not on the heap are assumed to need as much as the average of those on the heap in their tier.
     */
    public List<TotalReport.Demand> demands(DemandScope scope) {
        List<DemandProfile> profiles = new ArrayList<>();
        WorkBudget looks = new WorkBudget(MAX_LOOKS);
        int names = TotalReport.MAX_NAME_CHARACTERS;
        for (TierContenders tier : byRank.values()) {
            boolean isBeyond = profiles.size() == TotalReport.MAX_DEMANDS;
            DemandProfile profile = isBeyond ? profiles.get(profiles.size() - 1) : new DemandProfile(tier.tier, scope);
            if (!isBeyond) {
                profiles.add(profile);
            }
            names -= add(tier, profile, isBeyond, looks, names);
        }
        return profiles.stream().map(DemandProfile::demand).toList();
    }

    /** @return the characters of the clients that are named, at most {@code mostNames} */
    private int add(TierContenders tier, DemandProfile profile, boolean isBeyond, WorkBudget looks, int mostNames) {
        long left = tier.tokens();
        if (!isBeyond) {
            for (BucketId bucket : tier.soonestFirst.soonestFirst()) {
                Contender contender = contenders.get(bucket);
                left -= contender.tokens;
                if (!profile.add(contender, looks)) {
                    break;
                }
            }
        }
        BucketId next = coldByTier.containsKey(tier.tier) ? null : scheduler.first(tier.tier);
        next = next == null ? tier.soonestFirst.first() : next; // as in first()
        profile.addNextCost(next == null ? 1 : contenders.get(next).cost);
        int keys = tier.soonestFirst.size();
        long cold = coldByTier.getOrDefault(tier.tier, 0L);
        long each = keys == 0 ? 1 : Math.min(tier.tokens() / keys, MAX_ASSUMED_TOKENS);
        List<ClientKeys> largest = isBeyond ? List.of() : tier.largestClients(cold, mostNames);
        long others = tier.clients() - largest.size();
        long coldOthers = keys == 0 ? 1 : others * cold / keys;
        profile.addSum(left + cold * each, others + coldOthers, tier.largestCost());
        if (!isBeyond) {
            profile.setLargestClients(largest);
        }
        return largest.stream().mapToInt(client -> client.client().length()).sum();
    }
}
