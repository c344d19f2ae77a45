package dev.weir.shape.backlog;

import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.ServiceRank.Predecessor;
import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.fair.StartTimeFairQueue;
import dev.weir.shape.fair.VirtualTime;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.QueueRules;

/**
 * Computes bounds of the requests that leave before a given request of a bucket. It uses the tags of fair queueing and
 * sums of costs, and reads no requests. These leave before: all requests of higher priorities; all earlier ones of the
 * same flow; those with a smaller start of each other flow of the tier; and likewise, by weight, of each other tier of
 * the priority.
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
 * <p>The bounds are equal if all costs are, and mostly if at most three requests of each other flow wait. Otherwise
 * they differ by less than the largest cost of each other flow; for each other tier, by as much in proportion to the
 * weights and less than twice its largest cost. With more than {@value #MAX_FLOWS} flows or {@value #MAX_TIERS} tiers,
 * others are counted in groups, without a lower bound. Takes O(log flows), and constant time for each flow and tier
 * compared.
 */
final class ServiceOrder {

    /** The most flows that are compared one by one. */
    static final int MAX_FLOWS = 64;

    /** The most tiers of a priority that are compared one by one. */
    static final int MAX_TIERS = 64;

    private final QueueRules rules;
    private final FlowTable flows;
    private final FairScheduler scheduler;
    private final Head next;
    private final boolean mayExpire;
    private final QueueOccupancy occupancy;

    /**
     * @param next the request that leaves next, null if none waits
     * @param mayExpire whether the upper bound must hold even if requests expire, so that others of their flow take
     *     their place
     */
    ServiceOrder(QueueRules rules, FlowTable flows, FairScheduler scheduler, Head next, boolean mayExpire) {
        this.mayExpire = mayExpire;
        this.rules = rules;
        this.flows = flows;
        this.scheduler = scheduler;
        this.next = next;
        occupancy = flows.occupancy();
    }

    /**
     * Returns what leaves before a request of this cost.
     *
     * @param isAfterNext whether it arrives when the next request has left, which is counted too, instead of now; for
     *     a flow that waits, this makes no difference
     */
    AheadRange ahead(Flow flow, long cost, boolean isAfterNext) {
        AheadRange ofTier = inTier(flow, cost, isAfterNext);
        AheadRange total = ofTier.plus(AheadRange.exactly(occupancy.above(flow.tier())));
        int others = occupancy.tiersBeside(flow.tier());
        if (others == 0) {
            return total;
        }
        if (others > MAX_TIERS) {
            return total.plus(new AheadRange(AheadRange.NOTHING, occupancy.beside(flow.tier())));
        }
        TierRank rank = tierRank(flow.tier(), ofTier, cost, isAfterNext);
        for (String other : occupancy.tiers(rules.share(flow.tier()).priority())) {
            if (!other.equals(flow.tier())) {
                total = total.plus(ofOtherTier(rank, other));
            }
        }
        return total;
    }

    private AheadRange inTier(Flow flow, long cost, boolean isAfterNext) {
        FlowQueue own = flows.get(flow);
        AheadRange ahead = AheadRange.exactly(own == null ? AheadRange.NOTHING : new Ahead(own.size(), own.tokens()));
        if (occupancy.size(flow.tier()) == ahead.most().requests()) {
            return ahead; // no other flow of the tier waits
        }
        StartTimeFairQueue<String> values = scheduler.view().flows(flow.tier());
        VirtualTime start = own == null && isAfterNext && next.flow().tier().equals(flow.tier())
                ? values.startAfterNext(flow.value(), cost, 1, next.cost(), 1)
                : values.start(flow.value(), cost, 1);
        start = own == null ? start : start.roundedUpTo(1).plus(own.tokens());
        if (flows.flows() > MAX_FLOWS) {
            return ahead.plus(new AheadRange(AheadRange.NOTHING, inGroups(flow, own, start, values)));
        }
        Predecessor predecessor = own == null
                ? null
                : new Predecessor(own.tailCost(), own.tailCost(), own.costs().isUniform());
        StartTimeFairQueue.Tag<String> ownTag = values.tag(flow.value());
        AheadRange total = ahead;
        long singles = 0; // flows of one request that is ahead; its tag is older, so also if the start is the same
        long tokensOfSingles = 0;
        for (FlowQueue other : flows.flowQueues()) {
            if (other == own || !other.flow().tier().equals(flow.tier())) {
                continue;
            }
            StartTimeFairQueue.Tag<String> tag = values.tag(other.flow().value());
            if (tag.time().isAfter(start)) {
                continue;
            }
            if (other.size() == 1) {
                singles++;
                tokensOfSingles += other.tokens();
            } else {
                boolean isOlder = ownTag != null && ownTag.isOlderThan(tag);
                ServiceRank rank = new ServiceRank(start, start, ahead, predecessor, 1, isOlder);
                AheadRange before = other.costs().before(rank, tag.time(), 1, mayExpire);
                boolean isNext = own == null && isAfterNext && other.flow().equals(next.flow());
                total = total.plus(isNext ? withSecond(before, other.costs()) : before);
            }
        }
        return total.plus(AheadRange.exactly(new Ahead(singles, tokensOfSingles)));
    }

    /**
     * Allows for a tie with the second request of the next member: its tag is older than that of one that enters then.
     */
    private static AheadRange withSecond(AheadRange before, CostSummary next) {
        Ahead two = new Ahead(2, Math.min(next.tokens(), next.headCost() + next.largestCost()));
        return before.most().requests() == 1 && next.requests() > 1 ? new AheadRange(before.least(), two) : before;
    }

    /** Returns an upper bound of what leaves before in the other flows of the tier. */
    private Ahead inGroups(Flow flow, FlowQueue own, VirtualTime start, StartTimeFairQueue<String> values) {
        long distance = values.tag(values.first()).time().roundedDownTo(1).tokensUntil(start);
        if (distance < 0) {
            return AheadRange.NOTHING;
        }
        long least = occupancy.leastCost(flow.tier());
        long requestsEach = least == 0 ? Long.MAX_VALUE : 1 + distance / least;
        long tokensEach = distance + occupancy.largestCost(flow.tier());
        Ahead all = occupancy.ofEachFlow(flow.tier(), requestsEach, tokensEach);
        return own == null
                ? all
                : new Ahead(
                        all.requests() - Math.min(own.size(), requestsEach),
                        all.tokens() - Math.min(own.tokens(), tokensEach));
    }

    /**
     * The place of a request among the tiers of its priority.
     *
     * @param rank its place as seen from a tier whose tag is older
     */
    private record TierRank(
            StartTimeFairQueue<String> tiers, String tier, boolean isWaiting, boolean isAfterNext, ServiceRank rank) {}

    private TierRank tierRank(String tier, AheadRange ahead, long cost, boolean isAfterNext) {
        long weight = rules.share(tier).weight();
        int priority = rules.share(tier).priority();
        StartTimeFairQueue<String> tiers = scheduler.view().tiers(priority);
        boolean isWaiting = occupancy.size(tier) > 0;
        boolean isNextHere =
                isAfterNext && !isWaiting && rules.share(next.flow().tier()).priority() == priority;
        VirtualTime start = isNextHere
                ? tiers.startAfterNext(
                        tier,
                        cost,
                        weight,
                        next.cost(),
                        rules.share(next.flow().tier()).weight())
                : tiers.start(tier, cost, weight);
        long leastCost = occupancy.leastCost(tier);
        long largestCost = occupancy.largestCost(tier);
        return new TierRank(
                tiers,
                tier,
                isWaiting,
                isNextHere,
                new ServiceRank(
                        after(start, ahead.least(), weight),
                        after(start, ahead.most(), weight),
                        ahead,
                        isWaiting ? new Predecessor(leastCost, largestCost, leastCost == largestCost) : null,
                        weight,
                        false));
    }

    private static VirtualTime after(VirtualTime start, Ahead ahead, long weight) {
        return ahead.requests() == 0 ? start : start.roundedUpTo(weight).plus(ahead.tokens());
    }

    private AheadRange ofOtherTier(TierRank own, String other) {
        StartTimeFairQueue.Tag<String> tag = own.tiers().tag(other);
        boolean isOlder = own.isWaiting() && own.tiers().tag(own.tier()).isOlderThan(tag);
        ServiceRank rank = isOlder ? own.rank().older() : own.rank();
        CostSummary costs = costs(other);
        AheadRange before = costs.before(rank, tag.time(), rules.share(other).weight(), mayExpire);
        return own.isAfterNext() && other.equals(next.flow().tier()) ? withSecond(before, costs) : before;
    }

    private CostSummary costs(String tier) {
        FlowQueue first = flows.get(new Flow(tier, scheduler.view().flows(tier).first()));
        long least = occupancy.leastCost(tier);
        long largest = occupancy.largestCost(tier);
        return new CostSummary(
                occupancy.size(tier),
                occupancy.tokens(tier),
                QueueOccupancy.cappedCost(first.head().cost()),
                least,
                largest,
                least,
                largest);
    }
}
