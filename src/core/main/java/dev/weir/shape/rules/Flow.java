package dev.weir.shape.rules;

/**
 * The requests of one tier with one value of the field by which the tier shares, {@link QueueRules#fairBy}. They leave
 * in the order of their arrival.
 *
 * @param tier the tier, which determines priority and share; empty for requests without one
 * @param value the value of the field when the request arrived; empty for requests without one
 */
public record Flow(String tier, String value) implements Comparable<Flow> {

    /** Orders by tier, then value, to break ties deterministically. */
    @Override
    public int compareTo(Flow other) {
        int byTier = tier.compareTo(other.tier);
        return byTier != 0 ? byTier : value.compareTo(other.value);
    }
}
