package dev.weir.shape.fair;

/**
 * A point in the virtual time of a {@link StartTimeFairQueue}, in tokens by weight: {@code whole + part / (PARTS ·
 * weight)}. Adding {@code cost / weight} is exact, so nothing accumulates however many requests a member has. Whole
 * numbers wrap around; times are compared by their difference (as in RFC 1982), so all times in use must lie within
 * 2<sup>62</sup> tokens.
 *
 * @param whole whole tokens
 * @param part 0 or more, less than {@code PARTS · weight}
 * @param weight 1 to {@link #MAX_WEIGHT}
 */
public record VirtualTime(long whole, long part, long weight) implements Comparable<VirtualTime> {

    /** The largest weight: 2<sup>21</sup>. */
    static final long MAX_WEIGHT = 1L << 21;

    /** The parts of a token: the least common multiple of 1 to 16, so that times by these weights are whole parts. */
    static final long PARTS = 720_720;

    static final VirtualTime ZERO = new VirtualTime(0, 0, 1);

    /** Returns this time plus {@code cost / weight}, by the weight of this time. The cost can be negative. */
    public VirtualTime plus(long cost) {
        long sum = part + Math.floorMod(cost, weight) * PARTS;
        long wholes = Math.floorDiv(cost, weight) + sum / (PARTS * weight);
        return new VirtualTime(whole + wholes, sum % (PARTS * weight), weight);
    }

    /**
     * Returns the most tokens, by the weight of this time, that fit between this time and another; saturated, negative
     * if the other is before.
     */
    public long tokensUntil(VirtualTime other) {
        if (isAfter(other)) {
            return -1;
        }
        long wholes = other.whole - whole;
        if (wholes > Long.MAX_VALUE / 4 / weight) {
            return Long.MAX_VALUE / 4;
        }
        long tokens = wholes * weight + other.part * weight / (PARTS * other.weight) - part / PARTS + 1;
        while (plus(tokens).isAfter(other)) { // at most three times
            tokens--;
        }
        return tokens;
    }

    /** Returns this time, rounded up to the parts of a weight. */
    public VirtualTime roundedUpTo(long newWeight) {
        if (newWeight == weight) {
            return this;
        }
        long up = -Math.floorDiv(-part * newWeight, weight); // less than 2^62
        boolean carries = up == PARTS * newWeight;
        return new VirtualTime(carries ? whole + 1 : whole, carries ? 0 : up, newWeight);
    }

    /** Returns this time, rounded down to the parts of a weight. */
    public VirtualTime roundedDownTo(long newWeight) {
        return newWeight == weight ? this : new VirtualTime(whole, part * newWeight / weight, newWeight);
    }

    public boolean isAfter(VirtualTime other) {
        return compareTo(other) > 0;
    }

    static VirtualTime earliest(VirtualTime a, VirtualTime b) {
        return a.isAfter(b) ? b : a;
    }

    static VirtualTime latest(VirtualTime a, VirtualTime b) {
        return a.isAfter(b) ? a : b;
    }

    @Override
    public int compareTo(VirtualTime other) {
        long ahead = whole - other.whole;
        return ahead != 0 ? Long.signum(ahead) : Long.compare(part * other.weight, other.part * weight);
    }
}
