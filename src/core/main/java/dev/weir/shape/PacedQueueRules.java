package dev.weir.shape;

import dev.weir.shape.backlog.Pacing;
import dev.weir.shape.backlog.QueueRules;

/**
 * Rules and the pacing that follows from them, which all buckets of a queue share.
 *
 * @param pacing that of the rules
 */
record PacedQueueRules(QueueRules rules, Pacing pacing) {

    static PacedQueueRules of(QueueRules rules) {
        return new PacedQueueRules(rules, rules.pacing());
    }

    /** The same rules with another rate; the same object if the rate is the same. */
    PacedQueueRules withRate(long limit, long perMs) {
        return limit == rules.limit() && perMs == rules.perMs() ? this : of(rules.withRate(limit, perMs));
    }
}
