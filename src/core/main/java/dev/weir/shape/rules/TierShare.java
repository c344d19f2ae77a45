package dev.weir.shape.rules;

/**
 * The share of a tier in a queue's outflow.
 *
 * @param priority tiers with a higher priority leave first
 * @param weight the share among tiers of the same priority, 1 to {@value #MAX_WEIGHT}
 */
public record TierShare(int priority, int weight) {

    /** The share of a tier that the queue does not name. */
    public static final TierShare DEFAULT = new TierShare(0, 1);

    public static final int MAX_WEIGHT = 10_000;

    /** @throws IllegalArgumentException if the weight is out of its range */
    public TierShare {
        if (weight < 1 || weight > MAX_WEIGHT) {
            throw new IllegalArgumentException("weight must be 1 to " + MAX_WEIGHT + ", is " + weight);
        }
    }
}
