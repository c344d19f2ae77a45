package dev.weir.shape.backlog;

import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The waiting requests of a bucket by priority and tier. It estimates what is ahead of a new request, and finds the
 * request to evict.
 */
public final class QueueOccupancy {

    /** The most that one request counts for, so that sums do not overflow: 2<sup>35</sup> tokens. */
    private static final long MAX_COUNTED_COST = 1L << 35;

    /** If a priority has more tiers than this, those other than the request's own are counted as one. */
    private static final int MAX_TIERS_COMPARED = 64;

    /** What is ahead of a request. */
    public record Ahead(long requests, long tokens) {}

    private static final class Tier {
        final SizeHistogram requestsByClient = new SizeHistogram();
        final SizeHistogram tokensByClient = new SizeHistogram();
        TierShare share;
        long requests;
        long tokens;
    }

    private static final class PriorityLevel {
        final Set<Tier> tiers = new HashSet<>(); // the order does not matter: only sums are computed
        final TreeSet<FlowQueue> newestLast =
                new TreeSet<>(Comparator.comparingLong(FlowQueue::tailNumber).thenComparing(FlowQueue::flow));
        long requests;
        long tokens;
        long totalWeight;
    }

    private QueueRules rules;
    private final Map<String, Tier> tiers = new HashMap<>();
    private final TreeMap<Integer, PriorityLevel> byPriority = new TreeMap<>();
    private long size;
    private long tokens;

    QueueOccupancy(QueueRules rules) {
        this.rules = rules;
    }

    /** Returns the tokens that a request of this cost counts for. */
    static long cappedCost(long cost) {
        return Math.min(cost, MAX_COUNTED_COST);
    }

    /** Returns the number of waiting requests. */
    public long size() {
        return size;
    }

    /** Returns their total cost, with each cost capped. */
    public long tokens() {
        return tokens;
    }

    /** Returns the number of waiting requests of a tier. */
    public long size(String tier) {
        Tier of = tiers.get(tier);
        return of == null ? 0 : of.requests;
    }

    /** Returns the tiers with waiting requests. */
    public Set<String> tiers() {
        return tiers.keySet();
    }

    /** Changes the shares of the tiers, also for waiting requests. */
    void setRules(QueueRules newRules) {
        rules = newRules;
        List<PriorityLevel> old = List.copyOf(byPriority.values());
        byPriority.clear();
        tiers.forEach((name, tier) -> {
            tier.share = rules.share(name);
            PriorityLevel rank = rank(tier);
            rank.requests += tier.requests;
            rank.tokens += tier.tokens;
        });
        for (PriorityLevel rank : old) {
            for (FlowQueue line : rank.newestLast) {
                rank(tiers.get(line.flow().tier())).newestLast.add(line);
            }
        }
    }

    /** Adds a flow, or adds it again after it has changed. */
    void add(FlowQueue line) {
        Tier tier = tiers.computeIfAbsent(line.flow().tier(), name -> {
            Tier fresh = new Tier();
            fresh.share = rules.share(name);
            return fresh;
        });
        PriorityLevel rank = rank(tier);
        rank.newestLast.add(line);
        count(tier, rank, line.size(), line.tokens());
        tier.requestsByClient.add(line.size());
        tier.tokensByClient.add(line.tokens());
    }

    /** Removes a flow before it changes. If it became empty, {@link #removeIfEmpty} must follow. */
    void remove(FlowQueue line) {
        Tier tier = tiers.get(line.flow().tier());
        PriorityLevel rank = rank(tier);
        rank.newestLast.remove(line);
        tier.requestsByClient.remove(line.size());
        tier.tokensByClient.remove(line.tokens());
        count(tier, rank, -line.size(), -line.tokens());
    }

    /** Removes a tier if it has no waiting requests. */
    void removeIfEmpty(String name) {
        Tier tier = tiers.get(name);
        if (tier.requests == 0) {
            tiers.remove(name);
            PriorityLevel rank = rank(tier);
            rank.tiers.remove(tier);
            rank.totalWeight -= tier.share.weight();
            if (rank.tiers.isEmpty()) {
                byPriority.remove(tier.share.priority());
            }
        }
    }

    /** Returns the lowest priority with waiting requests. */
    public int lowestPriority() {
        return byPriority.firstKey();
    }

    /** Returns the flow with the newest request of the lowest priority. */
    public FlowQueue newestOfLowest() {
        return byPriority.firstEntry().getValue().newestLast.last();
    }

    /** Returns what waits in all higher priorities than a tier's. */
    Ahead above(String tier) {
        long requests = 0;
        long tokens = 0;
        for (PriorityLevel higher :
                byPriority.tailMap(rules.share(tier).priority(), false).values()) {
            requests += higher.requests;
            tokens += higher.tokens;
        }
        return new Ahead(requests, tokens);
    }

    /**
     * Returns what leaves before a request of a tier if each other client of the tier gets the given service before:
     * all higher priorities; in its own tier, up to that much of each client; in other tiers of its priority, in
     * proportion to their weights.
     */
    Ahead ahead(String tier, long requestsEach, long tokensEach) {
        TierShare share = rules.share(tier);
        Tier own = tiers.get(tier);
        long ownRequests = own == null ? 0 : own.requestsByClient.sumCappedAt(requestsEach);
        long ownTokens = own == null ? 0 : own.tokensByClient.sumCappedAt(tokensEach);
        Ahead above = above(tier);
        long requests = above.requests + ownRequests;
        long tokens = above.tokens + ownTokens;
        PriorityLevel rank = byPriority.get(share.priority());
        if (rank == null) {
            return new Ahead(requests, tokens);
        }
        if (rank.tiers.size() > MAX_TIERS_COMPARED) {
            long weights = rank.totalWeight - (own == null ? 0 : share.weight());
            requests += beside(rank.requests - (own == null ? 0 : own.requests), ownRequests, weights, share.weight());
            tokens += beside(rank.tokens - (own == null ? 0 : own.tokens), ownTokens, weights, share.weight());
            return new Ahead(requests, tokens);
        }
        for (Tier other : rank.tiers) {
            if (other != own) {
                requests += beside(other.requests, ownRequests, other.share.weight(), share.weight());
                tokens += beside(other.tokens, ownTokens, other.share.weight(), share.weight());
            }
        }
        return new Ahead(requests, tokens);
    }

    /**
     * Returns how much of what waits in other tiers is served while a tier of the given weight is served
     * {@code meanwhile}.
     */
    private static long beside(long waiting, long meanwhile, long weight, long ownWeight) {
        boolean more = meanwhile > Long.MAX_VALUE / weight;
        return more ? waiting : Math.min(waiting, meanwhile * weight / ownWeight);
    }

    private void count(Tier tier, PriorityLevel rank, long requests, long moreTokens) {
        tier.requests += requests;
        tier.tokens += moreTokens;
        rank.requests += requests;
        rank.tokens += moreTokens;
        size += requests;
        tokens += moreTokens;
    }

    private PriorityLevel rank(Tier tier) {
        PriorityLevel rank = byPriority.computeIfAbsent(tier.share.priority(), priority -> new PriorityLevel());
        if (rank.tiers.add(tier)) {
            rank.totalWeight += tier.share.weight();
        }
        return rank;
    }
}
