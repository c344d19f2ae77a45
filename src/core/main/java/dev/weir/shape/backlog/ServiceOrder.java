package dev.weir.shape.backlog;

import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.ServiceRank.Predecessor;

/**
 * Computes bounds of what leaves before a request of a bucket, from the tags of fair queueing and from what is known of
 * costs without reading requests: all higher priorities; of its flow, all; of each other flow of its tier, the requests
 * with a smaller start; and of each other tier of its priority in the same way, by weight.
 *
 * <p>The start of the request itself is known, since it follows the tag of its flow's head at the distance of the
 * flow's tokens. How many requests of another flow have a smaller start depends on their costs:
 *
 * <pre>
 *   start            0        4     6            11
 *   other flow       │ head 4 │  2  │     5      │ tail 1 │
 *   request                        ▲ 7: at least 7 tokens are ahead, at most 7 plus the largest cost; here 11
 * </pre>
 *
 * <p>The bounds are equal if costs within each flow and tier do not differ, and if of each other flow at most three
 * requests wait or all or none of them are ahead. Otherwise they differ, for each other flow and tier, by less than
 * twice its largest cost. With more than {@value #MAX_FLOWS} flows or {@value #MAX_TIERS} tiers, others are counted in
 * groups, without a lower bound.
 */
final class ServiceOrder {

    /** The most flows that are compared one by one. */
    static final int MAX_FLOWS = 64;

    /** The most tiers of a priority that are compared one by one. */
    static final int MAX_TIERS = 64;

    private static final long TOKEN = StartTimeFairQueue.TOKEN;

    private final QueueRules rules;
    private final FlowTable flows;
    private final FairScheduler scheduler;
    private final QueueOccupancy occupancy;

    ServiceOrder(QueueRules rules, FlowTable flows, FairScheduler scheduler) {
        this.rules = rules;
        this.flows = flows;
        this.scheduler = scheduler;
        occupancy = flows.occupancy();
    }

    /** Returns what leaves before a request that arrives now in a flow. */
    AheadRange ahead(Flow flow) {
        return ahead(flow, false);
    }

    /**
     * Returns what leaves before a request of a flow that arrives when the next request has left, including that
     * request. For a flow that waits, this is the same as if it arrived now.
     */
    AheadRange aheadAfterNext(Flow flow) {
        return ahead(flow, true);
    }

    private AheadRange ahead(Flow flow, boolean isAfterNext) {
        AheadRange ofTier = inTier(flow, isAfterNext);
        AheadRange total = ofTier.plus(AheadRange.exactly(occupancy.above(flow.tier())));
        int priority = rules.share(flow.tier()).priority();
        if (occupancy.tiersBeside(flow.tier()) > MAX_TIERS) {
            return total.plus(new AheadRange(AheadRange.NOTHING, occupancy.beside(flow.tier())));
        }
        for (String other : occupancy.tiers(priority)) {
            if (!other.equals(flow.tier())) {
                total = total.plus(ofOtherTier(flow.tier(), ofTier, other, priority, isAfterNext));
            }
        }
        return total;
    }

    private AheadRange inTier(Flow flow, boolean isAfterNext) {
        FlowQueue own = flows.get(flow);
        long requests = own == null ? 0 : own.size();
        long tokens = own == null ? 0 : own.tokens();
        StartTimeFairQueue<String> clients = scheduler.clients(flow.tier());
        long ownStart = clients == null ? 0 : clients.start(flow.client());
        if (own == null && isAfterNext && clients != null && scheduler.next().orElseThrow().tier().equals(flow.tier())) {
            ownStart = Math.max(ownStart, clients.start(clients.first()));
        }
        long start = ownStart + CostSummary.virtual(tokens, 1);
        AheadRange ahead = AheadRange.exactly(new Ahead(requests, tokens));
        if (flows.flows() > MAX_FLOWS) {
            return ahead.plus(new AheadRange(AheadRange.NOTHING, inGroups(flow, own, start, clients)));
        }
        Predecessor predecessor = own == null
                ? null
                : new Predecessor(own.tailCost(), own.tailCost(), own.costs().isUniform());
        AheadRange total = ahead;
        for (FlowQueue other : flows.flowQueues()) {
            if (other != own && other.flow().tier().equals(flow.tier())) {
                String client = other.flow().client();
                long distance = start - (clients == null ? 0 : clients.start(client));
                boolean isOlder = own != null && clients != null && clients.isOlder(flow.client(), client);
                ServiceRank rank = new ServiceRank(distance, distance, ahead, predecessor, 1, isOlder);
                total = total.plus(other.costs().before(rank, 1));
            }
        }
        return total;
    }

    /** Returns an upper bound of what leaves before in the other flows of the tier. */
    private Ahead inGroups(Flow flow, FlowQueue own, long start, StartTimeFairQueue<String> clients) {
        if (clients == null || clients.isEmpty()) {
            return AheadRange.NOTHING;
        }
        long distance = start - clients.start(clients.first());
        if (distance < 0) {
            return AheadRange.NOTHING;
        }
        long before = distance / TOKEN; // the most tokens of a flow before its last request ahead
        long least = occupancy.leastCost(flow.tier());
        long requestsEach = least == 0 ? Long.MAX_VALUE : 1 + before / least;
        long tokensEach = before + occupancy.largestCost(flow.tier());
        Ahead all = occupancy.ofEachFlow(flow.tier(), requestsEach, tokensEach);
        return own == null
                ? all
                : new Ahead(
                        all.requests() - Math.min(own.size(), requestsEach),
                        all.tokens() - Math.min(own.tokens(), tokensEach));
    }

    private AheadRange ofOtherTier(
            String tier, AheadRange inTier, String other, int priority, boolean isAfterNext) {
        StartTimeFairQueue<String> tiers = scheduler.tiers(priority);
        long weight = rules.share(tier).weight();
        boolean isWaiting = occupancy.size(tier) > 0;
        long start = tiers == null ? 0 : tiers.start(tier);
        if (!isWaiting && isAfterNext && tiers != null && scheduler.isHighest(priority)) {
            start = Math.max(start, tiers.start(tiers.first()));
        }
        long distance = start - (tiers == null ? 0 : tiers.start(other));
        long leastCost = isWaiting ? occupancy.leastCost(tier) : 0;
        long largestCost = isWaiting ? occupancy.largestCost(tier) : 0;
        boolean areEqual = leastCost == largestCost && leastCost > 0;
        Ahead least = inTier.least();
        Ahead most = inTier.most();
        long leastLength = areEqual
                ? least.requests() * CostSummary.length(leastCost, weight)
                : CostSummary.virtual(least.tokens(), weight);
        long mostLength = areEqual
                ? most.requests() * CostSummary.length(leastCost, weight)
                : CostSummary.virtual(most.tokens(), weight) + (TOKEN % weight == 0 ? 0 : most.requests());
        ServiceRank rank = new ServiceRank(
                distance + leastLength,
                distance + mostLength,
                inTier,
                new Predecessor(leastCost, largestCost, areEqual),
                weight,
                isWaiting && tiers != null && tiers.isOlder(tier, other));
        return costs(other).before(rank, rules.share(other).weight());
    }

    private CostSummary costs(String tier) {
        FlowQueue head = flows.get(scheduler.head(tier));
        long least = occupancy.leastCost(tier);
        long largest = occupancy.largestCost(tier);
        return new CostSummary(
                occupancy.size(tier),
                occupancy.tokens(tier),
                QueueOccupancy.cappedCost(head.headCost()),
                least,
                largest,
                least,
                largest);
    }
}
