package dev.weir.shape.backlog;

import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/** The waiting requests of a bucket by priority and tier: sums, bounds of costs, and the request to evict. */
public final class QueueOccupancy {

    /** The most that one request counts for, so that sums do not overflow: 2<sup>35</sup> tokens. */
    private static final long MAX_COUNTED_COST = 1L << 35;

    /** What is ahead of a request. */
    public record Ahead(long requests, long tokens) {

        /** Returns the sum of both, saturated. */
        public Ahead plus(Ahead more) {
            return new Ahead(requests + more.requests, Math.min(tokens, Long.MAX_VALUE - more.tokens) + more.tokens);
        }
    }

    private static final class Tier {
        final String name;
        final SizeHistogram requestsByClient = new SizeHistogram();
        final SizeHistogram tokensByClient = new SizeHistogram();
        final SizeHistogram leastCosts = new SizeHistogram();
        final SizeHistogram largestCosts = new SizeHistogram();
        TierShare share;
        long requests;
        long tokens;

        Tier(String name) {
            this.name = name;
        }
    }

    private static final class PriorityLevel {
        final Set<Tier> tiers = new HashSet<>(); // the order does not matter: only sums are computed
        final TreeSet<FlowQueue> newestLast =
                new TreeSet<>(Comparator.comparingLong(FlowQueue::tailNumber).thenComparing(FlowQueue::flow));
        long requests;
        long tokens;
    }

    private QueueRules rules;
    private final Map<String, Tier> tiers = new HashMap<>();
    private final TreeMap<Integer, PriorityLevel> byPriority = new TreeMap<>();
    private final SizeHistogram leastCosts = new SizeHistogram();
    private final SizeHistogram largestCosts = new SizeHistogram();
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

    /** Returns the total cost of a tier. */
    long tokens(String tier) {
        Tier of = tiers.get(tier);
        return of == null ? 0 : of.tokens;
    }

    /** Returns a lower bound of the costs in a tier; 0 if nothing waits in it. */
    long leastCost(String tier) {
        Tier of = tiers.get(tier);
        return of == null ? 0 : of.leastCosts.leastSize();
    }

    /** Returns an upper bound of the costs in a tier; 0 if nothing waits in it. */
    long largestCost(String tier) {
        Tier of = tiers.get(tier);
        return of == null ? 0 : of.largestCosts.largestSize();
    }

    /** Returns a lower bound of all costs; 0 if nothing waits. */
    public long leastCost() {
        return leastCosts.leastSize();
    }

    /** Returns an upper bound of all costs; 0 if nothing waits. */
    public long largestCost() {
        return largestCosts.largestSize();
    }

    /** Returns the tiers with waiting requests. */
    public Set<String> tiers() {
        return tiers.keySet();
    }

    /** Returns the tiers of a priority with waiting requests, in no particular order. */
    List<String> tiers(int priority) {
        PriorityLevel level = byPriority.get(priority);
        return level == null
                ? List.of()
                : level.tiers.stream().map(tier -> tier.name).toList();
    }

    /** Returns how many other tiers of a tier's priority have waiting requests. */
    int tiersBeside(String tier) {
        PriorityLevel level = byPriority.get(rules.share(tier).priority());
        return level == null ? 0 : level.tiers.size() - (tiers.containsKey(tier) ? 1 : 0);
    }

    /** Returns what waits in the other tiers of a tier's priority. */
    Ahead beside(String tier) {
        PriorityLevel level = byPriority.get(rules.share(tier).priority());
        return level == null ? AheadRange.NOTHING : new Ahead(level.requests - size(tier), level.tokens - tokens(tier));
    }

    /** Changes the shares of the tiers, also for waiting requests. */
    void setRules(QueueRules newRules) {
        rules = newRules;
        List<PriorityLevel> old = List.copyOf(byPriority.values());
        byPriority.clear();
        tiers.forEach((name, tier) -> {
            tier.share = rules.share(name);
            PriorityLevel level = levelOf(tier);
            level.requests += tier.requests;
            level.tokens += tier.tokens;
        });
        for (PriorityLevel level : old) {
            for (FlowQueue queue : level.newestLast) {
                levelOf(tiers.get(queue.flow().tier())).newestLast.add(queue);
            }
        }
    }

    /** Adds a flow that is not empty. */
    void add(FlowQueue queue) {
        Tier tier = tiers.computeIfAbsent(queue.flow().tier(), name -> {
            Tier fresh = new Tier(name);
            fresh.share = rules.share(name);
            return fresh;
        });
        PriorityLevel level = levelOf(tier);
        level.newestLast.add(queue);
        count(tier, level, queue.size(), queue.tokens());
        tier.requestsByClient.add(queue.size());
        tier.tokensByClient.add(queue.tokens());
        tier.leastCosts.add(queue.leastCost());
        tier.largestCosts.add(queue.largestCost());
        leastCosts.add(queue.leastCost());
        largestCosts.add(queue.largestCost());
    }

    /** Changes a flow, and removes it if it is empty then. */
    void change(FlowQueue queue, Consumer<FlowQueue> change) {
        subtract(queue);
        change.accept(queue);
        if (queue.isEmpty()) {
            removeIfEmpty(queue.flow().tier());
        } else {
            add(queue);
        }
    }

    private void subtract(FlowQueue queue) {
        Tier tier = tiers.get(queue.flow().tier());
        PriorityLevel level = levelOf(tier);
        level.newestLast.remove(queue);
        tier.requestsByClient.remove(queue.size());
        tier.tokensByClient.remove(queue.tokens());
        tier.leastCosts.remove(queue.leastCost());
        tier.largestCosts.remove(queue.largestCost());
        leastCosts.remove(queue.leastCost());
        largestCosts.remove(queue.largestCost());
        count(tier, level, -queue.size(), -queue.tokens());
    }

    /** Removes a tier if it has no waiting requests. */
    private void removeIfEmpty(String name) {
        Tier tier = tiers.get(name);
        if (tier.requests == 0) {
            tiers.remove(name);
            PriorityLevel level = levelOf(tier);
            level.tiers.remove(tier);
            if (level.tiers.isEmpty()) {
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
    public Ahead above(String tier) {
        long requests = 0;
        long tokens = 0;
        for (PriorityLevel higher :
                byPriority.tailMap(rules.share(tier).priority(), false).values()) {
            requests += higher.requests;
            tokens += higher.tokens;
        }
        return new Ahead(requests, tokens);
    }

    /** Returns what waits in a tier's priority and in all higher ones. */
    public Ahead from(String tier) {
        PriorityLevel level = byPriority.get(rules.share(tier).priority());
        Ahead above = above(tier);
        return level == null ? above : above.plus(new Ahead(level.requests, level.tokens));
    }

    /** Returns an upper bound of what waits in a tier if each flow counts for at most this much. */
    Ahead ofEachFlow(String tier, long requestsEach, long tokensEach) {
        Tier of = tiers.get(tier);
        return of == null
                ? AheadRange.NOTHING
                : new Ahead(of.requestsByClient.sumCappedAt(requestsEach), of.tokensByClient.sumCappedAt(tokensEach));
    }

    private void count(Tier tier, PriorityLevel level, long requests, long moreTokens) {
        tier.requests += requests;
        tier.tokens += moreTokens;
        level.requests += requests;
        level.tokens += moreTokens;
        size += requests;
        tokens += moreTokens;
    }

    private PriorityLevel levelOf(Tier tier) {
        PriorityLevel level = byPriority.computeIfAbsent(tier.share.priority(), priority -> new PriorityLevel());
        level.tiers.add(tier);
        return level;
    }
}
