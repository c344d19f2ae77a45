package dev.weir.shape.backlog;

/**
 * The requests of one client in one tier. They leave in the order of their arrival.
 *
 * @param tier the tier, which determines priority and share; empty for requests without one
 * @param client the client
 */
public record Flow(String tier, String client) implements Comparable<Flow> {

    /** Orders by tier, then client, to break ties deterministically. */
    @Override
    public int compareTo(Flow other) {
        int byTier = tier.compareTo(other.tier);
        return byTier != 0 ? byTier : client.compareTo(other.client);
    }
}
