package dev.weir.shape.rules;

/**
 * The share of a tier in a queue's outflow.
 *
 * @param priority tiers with a higher priority leave first
 * @param weight the share among tiers of the same priority, 1 to {@value #MAX_WEIGHT}
 * @param minPercent the part of all service that the tier gets while it waits, whatever waits in higher priorities, in
 *     percent; 0 for none
 */
public record TierShare(int priority, int weight, int minPercent) {

    /** The share of a tier that the queue does not name. */
    public static final TierShare DEFAULT = new TierShare(0, 1);

    public static final int MAX_WEIGHT = 10_000;
    public static final int MAX_PERCENT = 100;

    /** @throws IllegalArgumentException if the weight is out of its range */
    public TierShare {
        if (weight < 1 || weight > MAX_WEIGHT) {
            throw new IllegalArgumentException("weight must be 1 to " + MAX_WEIGHT + ", is " + weight);
        }
        if (minPercent < 0 || minPercent > MAX_PERCENT) {
            throw new IllegalArgumentException("min-share must be 0% to 100%, is " + minPercent + "%");
        }
    }

    /** Creates a share without a least part. */
    public TierShare(int priority, int weight) {
        this(priority, weight, 0);
    }

    /** Returns this share with another least part. */
    public TierShare withMinPercent(int percent) {
        return new TierShare(priority, weight, percent);
    }
}
