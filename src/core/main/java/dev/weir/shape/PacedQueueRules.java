package dev.weir.shape;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TotalRate;

/**
 * Rules and the pacing derived from them, shared by all buckets of a queue.
 *
 * @param rules the rules
 * @param pacing the pacing of the rules
 * @param total the pacing of all keys together; null if there is none
 */
record PacedQueueRules(QueueRules rules, Pacing pacing, Pacing total) {

    static PacedQueueRules of(QueueRules rules) {
        Pacing total = rules.total() == null
                ? null
                : rules.total().rate().map(TotalRate::pacing).orElse(null);
        return new PacedQueueRules(rules, rules.pacing(), total);
    }

    /** Returns the same rules with another rate and burst; this object if these are the same. */
    PacedQueueRules withPace(long limit, long perMs, long burst) {
        boolean isSame = limit == rules.limit() && perMs == rules.perMs() && burst == rules.burst();
        return isSame ? this : of(rules.withPace(limit, perMs, burst));
    }
}
