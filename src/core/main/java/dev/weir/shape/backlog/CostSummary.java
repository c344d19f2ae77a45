package dev.weir.shape.backlog;

import dev.weir.shape.backlog.QueueOccupancy.Ahead;

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

    private static final long TOKEN = StartTimeFairQueue.TOKEN;

    /** Returns whether all requests have the same cost, more than 0. */
    boolean isUniform() {
        return leastCost == largestCost && leastCost > 0;
    }

    /**
     * Returns which of these requests are served before another one of the same {@link StartTimeFairQueue}: those whose
     * start is smaller or, if it is the same, whose tag is older.
     *
     * @param weight the weight of the member to which these requests belong
     */
    AheadRange before(ServiceRank other, long weight) {
        return new AheadRange(
                least(other.leastDistance(), other, weight), most(other.mostDistance(), other, weight));
    }

    private Ahead least(long distance, ServiceRank other, long weight) {
        if (distance < 0 || distance == 0 && !other.isAfterHead()) {
            return AheadRange.NOTHING;
        }
        if (isUniform()) {
            long length = length(leastCost, weight);
            long index = distance / length;
            boolean isAhead = distance % length > 0 || index == 0 || other.tie(this, weight, index) == Tie.AHEAD;
            return uniform(isAhead ? index + 1 : index);
        }
        Ahead head = new Ahead(1, headCost);
        long second = length(headCost, weight);
        if (requests == 1 || distance < second || distance == second && !isSurelyAhead(other, weight, 1)) {
            return head;
        }
        if (requests == 2) {
            return all();
        }
        long rounding = TOKEN % weight == 0 ? 0 : requests; // each length is rounded up
        if (virtual(tokens - leastTailCost, weight) + rounding < distance) {
            return all();
        }
        if (requests == 3 && isTailKnown()) {
            long third = second + length(tokens - headCost - leastTailCost, weight);
            boolean isAhead = distance > third || distance == third && isSurelyAhead(other, weight, 2);
            return isAhead ? all() : new Ahead(2, tokens - leastTailCost);
        }
        long served = -floorTokens(-(distance - rounding), weight);
        long least = Math.min(tokens, Math.max(headCost + leastCost, served));
        long others = largestCost == 0 ? 1 : (least - headCost + largestCost - 1) / largestCost;
        return new Ahead(Math.min(requests, 1 + Math.max(1, others)), least);
    }

    private Ahead most(long distance, ServiceRank other, long weight) {
        if (distance < 0 || distance == 0 && !other.mayBeAfterHead()) {
            return AheadRange.NOTHING;
        }
        if (isUniform()) {
            long length = length(leastCost, weight);
            long index = distance / length;
            boolean isAhead = distance % length > 0 || index == 0 || other.tie(this, weight, index) != Tie.BEHIND;
            return uniform(isAhead ? index + 1 : index);
        }
        long second = length(headCost, weight);
        boolean isOnlyHead = requests == 1
                || distance < second
                || distance == second && second > 0 && other.tie(this, weight, 1) == Tie.BEHIND;
        if (isOnlyHead) {
            return new Ahead(1, headCost);
        }
        if (requests == 2) {
            return all();
        }
        if (requests == 3 && isTailKnown() && leastCost > 0) {
            long third = second + length(tokens - headCost - leastTailCost, weight);
            boolean isAhead = distance > third || distance == third && other.tie(this, weight, 2) != Tie.BEHIND;
            return isAhead ? all() : new Ahead(2, tokens - leastTailCost);
        }
        long before = floorTokens(distance, weight); // the tokens before the last one ahead are at most as many
        boolean isTailBehind = tokens - largestTailCost > before;
        long most = Math.min(isTailBehind ? tokens - leastTailCost : tokens, before + largestCost);
        long count = isTailBehind ? requests - 1 : requests;
        if (leastCost > 0) {
            count = Math.min(count, 2 + Math.max(0, before - headCost) / leastCost);
        }
        return new Ahead(count, most);
    }

    private boolean isSurelyAhead(ServiceRank other, long weight, long index) {
        return leastCost > 0 && other.tie(this, weight, index) == Tie.AHEAD;
    }

    private boolean isTailKnown() {
        return leastTailCost == largestTailCost;
    }

    private Ahead all() {
        return new Ahead(requests, tokens);
    }

    private Ahead uniform(long count) {
        return count >= requests ? all() : new Ahead(count, count * leastCost);
    }

    /** How two requests with the same start are served. */
    enum Tie {
        AHEAD,
        BEHIND,
        UNKNOWN
    }

    static long length(long cost, long weight) {
        return StartTimeFairQueue.length(cost, weight);
    }

    /** Returns the length of several requests, without the rounding of each; saturated. */
    static long virtual(long tokens, long weight) {
        return tokens > Long.MAX_VALUE / 4 / TOKEN ? Long.MAX_VALUE / 4 : tokens * TOKEN / weight;
    }

    /** Returns the whole tokens that are served at a weight in a virtual time of either sign. */
    private static long floorTokens(long distance, long weight) {
        long whole = Math.floorDiv(distance, TOKEN);
        return whole * weight + Math.floorMod(distance, TOKEN) * weight / TOKEN;
    }
}
