package dev.weir.shape.backlog;

import dev.weir.shape.backlog.CostSummary.Tie;
import dev.weir.shape.fair.StartTimeFairQueue;
import dev.weir.shape.fair.VirtualTime;

/**
 * The place of a request in the order of a {@link StartTimeFairQueue}, as seen from another member.
 *
 * @param least a lower bound of its start
 * @param most an upper bound of its start
 * @param ahead how many requests of its own member are served before it
 * @param predecessor the costs of these, null if there are none
 * @param ownWeight the weight of its own member
 * @param isOlder whether the tag of its member exists and is older than that of the other member
 */
record ServiceRank(
        VirtualTime least,
        VirtualTime most,
        AheadRange ahead,
        Predecessor predecessor,
        long ownWeight,
        boolean isOlder) {

    /**
     * The costs of the requests of a member that are served before another one of it.
     *
     * @param leastCost a lower bound of the cost of the last of them
     * @param largestCost an upper bound of it
     * @param areEqual whether all of them cost the same
     */
    record Predecessor(long leastCost, long largestCost, boolean areEqual) {}

    /** Returns this place as seen from a member whose tag is newer. */
    ServiceRank older() {
        return new ServiceRank(least, most, ahead, predecessor, ownWeight, true);
    }

    private boolean isExact() {
        return least.compareTo(most) == 0;
    }

    /** Returns whether the request is served behind the other member's head if both have the same start. */
    boolean isSurelyAfterHead() {
        return isExact() && (ahead.least().requests() > 0 || ahead.most().requests() == 0 && !isOlder);
    }

    /** Returns whether the request may be served behind the other member's head if both have the same start. */
    boolean mayBeAfterHead() {
        return !isExact() || ahead.most().requests() > 0 || !isOlder;
    }

    /**
     * Returns how a request behind the other member's head, which has the same start, is served: first the one whose
     * tag is older, that is, whose predecessor was served first.
     *
     * @param index the number of requests before it in its member, 1 or more
     */
    Tie tie(CostSummary other, long weight, long index) {
        if (!isExact() || !ahead.isExact() || other.leastCost() == 0) {
            return Tie.UNKNOWN;
        }
        if (ahead.most().requests() == 0) {
            return Tie.BEHIND; // its tag exists, and the other does not
        }
        if (predecessor == null || predecessor.leastCost == 0) {
            return Tie.UNKNOWN;
        }
        long leastLength = predecessor.leastCost * weight; // in units of both weights
        long mostLength = predecessor.largestCost * weight;
        long othersLeast = other.leastCost() * ownWeight;
        long othersMost = other.largestCost() * ownWeight;
        if (mostLength < othersLeast) {
            return Tie.AHEAD;
        }
        if (leastLength > othersMost) {
            return Tie.BEHIND;
        }
        if (!predecessor.areEqual || leastLength < mostLength || othersLeast < othersMost) {
            return Tie.UNKNOWN;
        }
        long own = ahead.most().requests();
        boolean isBefore = own == index ? isOlder : own < index; // the first of both to reach its member's head
        return isBefore ? Tie.BEHIND : Tie.AHEAD;
    }
}
