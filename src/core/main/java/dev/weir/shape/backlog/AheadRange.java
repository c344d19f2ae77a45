package dev.weir.shape.backlog;

import dev.weir.shape.backlog.QueueOccupancy.Ahead;

/**
 * What leaves before a request if nothing else arrives and nothing expires or is cancelled.
 *
 * @param least a lower bound, in requests and in tokens
 * @param most an upper bound
 */
public record AheadRange(Ahead least, Ahead most) {

    public static final Ahead NOTHING = new Ahead(0, 0);

    static AheadRange exactly(Ahead ahead) {
        return new AheadRange(ahead, ahead);
    }

    AheadRange plus(AheadRange more) {
        return new AheadRange(least.plus(more.least), most.plus(more.most));
    }

    /** Returns whether both bounds are equal. */
    public boolean isExact() {
        return least.equals(most);
    }
}
