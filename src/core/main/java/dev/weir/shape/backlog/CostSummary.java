package dev.weir.shape.backlog;

import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.fair.StartTimeFairQueue;
import dev.weir.shape.fair.VirtualTime;

/**
 * What is known, without reading them, of requests that are served one behind another: the requests of a flow, or those
 * of a tier. Each cost counts as in {@link QueueOccupancy}.
 *
 * @param requests how many there are, 1 or more
 * @param tokens their total cost
 * @param headCost the cost of the first
 * @param leastCost a lower bound of each cost
 * @param largestCost an upper bound of each cost
 * @param leastTailCost a lower bound of the cost of the last
 * @param largestTailCost an upper bound of the cost of the last
 */
record CostSummary(
        long requests,
        long tokens,
        long headCost,
        long leastCost,
        long largestCost,
        long leastTailCost,
        long largestTailCost) {

    /** How two requests with the same start are served. */
    enum Tie {
        AHEAD,
        BEHIND,
        UNKNOWN
    }

    /**
     * Returns which of these requests are served before another one of the same {@link StartTimeFairQueue}: those whose
     * start is smaller or, if it is the same, whose tag is older.
     *
     * @param headStart the start of the first
     * @param weight the weight of the member to which these requests belong
     * @param mayExpire whether the upper bound must hold even if some of these requests expire
     */
    AheadRange before(ServiceRank other, VirtualTime headStart, long weight, boolean mayExpire) {
        return new AheadRange(
                least(other, headStart, weight),
                mayExpire ? mostOfAny(other, headStart, weight) : most(other, headStart, weight));
    }

    /** Returns an upper bound that holds whichever of the requests expire, so that those behind take their place. */
    private Ahead mostOfAny(ServiceRank other, VirtualTime headStart, long weight) {
        if (headStart.isAfter(other.most())) {
            return AheadRange.NOTHING;
        }
        long distance = Math.max(0, headStart.roundedUpTo(weight).tokensUntil(other.most()));
        long count = leastCost == 0 ? requests : Math.min(requests, 1 + distance / leastCost);
        return new Ahead(count, Math.min(tokens, distance + largestCost));
    }

    private Ahead least(ServiceRank other, VirtualTime headStart, long weight) {
        VirtualTime start = other.least();
        int head = headStart.compareTo(start);
        if (head > 0 || head == 0 && !other.isSurelyAfterHead()) {
            return AheadRange.NOTHING;
        }
        if (requests == 1) {
            return all();
        }
        VirtualTime from = headStart.roundedUpTo(weight);
        long distance = from.tokensUntil(start); // requests with fewer tokens before them are ahead
        boolean isTie = distance >= 0 && from.plus(distance).compareTo(start) == 0;
        if (isUniform()) {
            return uniform(distance, isTie, Tie.AHEAD, other, weight);
        }
        Ahead first = new Ahead(1, headCost);
        if (!isSurelyAhead(headCost, 1, distance, isTie, other, weight)) {
            return first;
        }
        if (requests == 2 || isSurelyAhead(tokens - leastTailCost, requests - 1, distance, isTie, other, weight)) {
            return all();
        }
        if (requests == 3 && isTailKnown()) {
            return new Ahead(2, tokens - leastTailCost);
        }
        long least = Math.min(tokens, Math.max(headCost + leastCost, isTie ? distance : distance + 1));
        long others = largestCost == 0 ? 1 : (least - headCost + largestCost - 1) / largestCost;
        return new Ahead(Math.min(requests, 1 + Math.max(1, others)), least);
    }

    private Ahead most(ServiceRank other, VirtualTime headStart, long weight) {
        VirtualTime start = other.most();
        int head = headStart.compareTo(start);
        if (head > 0 || head == 0 && !other.mayBeAfterHead()) {
            return AheadRange.NOTHING;
        }
        if (requests == 1) {
            return all();
        }
        VirtualTime from = headStart.roundedUpTo(weight);
        long distance = from.tokensUntil(start);
        boolean isTie = distance >= 0 && from.plus(distance).compareTo(start) == 0;
        if (isUniform()) {
            return uniform(distance, isTie, Tie.UNKNOWN, other, weight);
        }
        if (!mayBeAhead(headCost, 1, distance, isTie, other, weight)) {
            return new Ahead(1, headCost);
        }
        if (requests == 2) {
            return all();
        }
        boolean isTailBehind = !mayBeAhead(tokens - largestTailCost, requests - 1, distance, isTie, other, weight);
        if (requests == 3 && isTailKnown()) {
            return isTailBehind ? new Ahead(2, tokens - leastTailCost) : all();
        }
        long most = Math.min(isTailBehind ? tokens - leastTailCost : tokens, distance + largestCost);
        long count = isTailBehind ? requests - 1 : requests;
        if (leastCost > 0) {
            count = Math.min(count, 2 + Math.max(0, distance - headCost) / leastCost);
        }
        return new Ahead(count, most);
    }

    /** Returns whether a request with so many tokens before it is ahead, as far as that is sure. */
    private boolean isSurelyAhead(
            long before, long index, long distance, boolean isTie, ServiceRank other, long weight) {
        return before < distance || before == distance && (!isTie || other.tie(this, weight, index) == Tie.AHEAD);
    }

    /** Returns whether a request with so many tokens before it may be ahead. */
    private boolean mayBeAhead(long before, long index, long distance, boolean isTie, ServiceRank other, long weight) {
        return before < distance || before == distance && (!isTie || other.tie(this, weight, index) != Tie.BEHIND);
    }

    /** Returns whether all requests have the same cost, more than 0. */
    boolean isUniform() {
        return leastCost == largestCost && leastCost > 0;
    }

    private Ahead uniform(long distance, boolean isTie, Tie ifUnknown, ServiceRank other, long weight) {
        long index = distance < 0 ? 0 : distance / leastCost;
        boolean isAhead = index == 0 || !isTie || distance % leastCost > 0;
        if (!isAhead) {
            Tie tie = other.tie(this, weight, index);
            isAhead = tie == Tie.AHEAD || tie == Tie.UNKNOWN && ifUnknown == Tie.UNKNOWN;
        }
        long count = isAhead ? index + 1 : index;
        return count >= requests ? all() : new Ahead(count, count * leastCost);
    }

    private boolean isTailKnown() {
        return leastTailCost == largestTailCost;
    }

    private Ahead all() {
        return new Ahead(requests, tokens);
    }
}
