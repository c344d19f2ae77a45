package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.total.TotalReport.Step;
import java.util.ArrayDeque;
import java.util.Deque;

/** What a partition wants for one tier and has not been granted yet. */
final class PendingDemand {

    final long weight;
    final long leastTokens;
    final long largestCost;
    private final Deque<Step> steps;

    /**
     * @param demand with at least one step
     * @param pacing the pace of the total
     * @param weight the share of the demand in its tier, 1 or more
     */
    PendingDemand(TotalReport.Demand demand, Pacing pacing, long weight) {
        this.weight = weight;
        steps = new ArrayDeque<>(demand.steps());
        leastTokens = demand.leastTokens(pacing);
        largestCost = Math.max(leastTokens, demand.largestCost());
    }

    boolean isEmpty() {
        return steps.isEmpty();
    }

    /** Returns when the first step begins. */
    long fromNanos() {
        return steps.peekFirst().fromNanos();
    }

    /** Returns the tokens of the steps that have begun. */
    long tokensBegun(long nanos) {
        long tokens = 0;
        for (Step step : steps) {
            tokens += step.fromNanos() <= nanos ? step.tokens() : 0;
        }
        return tokens;
    }

    /** Subtracts granted tokens from the steps that have begun. */
    void use(long tokens, long nanos) {
        for (long left = tokens; left > 0 && !steps.isEmpty() && fromNanos() <= nanos; ) {
            Step first = steps.removeFirst();
            if (first.tokens() > left) {
                steps.addFirst(new Step(first.fromNanos(), first.tokens() - left));
            }
            left -= Math.min(left, first.tokens());
        }
    }
}
