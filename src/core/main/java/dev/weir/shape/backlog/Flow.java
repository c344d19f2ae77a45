package dev.weir.shape.backlog;

/**
 * One client's requests of one tier: they leave in the order in which they came.
 *
 * @param tier the plan that decides priority and share; empty for requests without one
 * @param client who asks
 */
public record Flow(String tier, String client) implements Comparable<Flow> {

    /** By tier, then client: settles ties where an order must not depend on chance. */
    @Override
    public int compareTo(Flow other) {
        int byTier = tier.compareTo(other.tier);
        return byTier != 0 ? byTier : client.compareTo(other.client);
    }
}
