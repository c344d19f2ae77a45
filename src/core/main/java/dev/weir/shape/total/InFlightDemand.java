package dev.weir.shape.total;

/**
 * The slots of a total that requests of a tier need which may leave now, beyond those that the partition has.
 *
 * @param next what the request that leaves next needs
 * @param sum what all need; 0 if none needs any
 */
public record InFlightDemand(long next, long sum) {

    public static final InFlightDemand NONE = new InFlightDemand(0, 0);

    /** Returns what is needed beyond some slots. */
    InFlightDemand beyond(long slots) {
        return slots >= sum ? NONE : new InFlightDemand(Math.max(1, next - slots), sum - slots);
    }
}
