package dev.weir.shape;

/**
 * Rules and the pacing that follows from them, which all buckets of a queue share.
 *
 * @param pacing that of the rules
 */
record PacedRules(QueueRules rules, Pacing pacing) {

    static PacedRules of(QueueRules rules) {
        return new PacedRules(rules, rules.pacing());
    }

    /** The same rules with another rate; the same object if the rate is the same. */
    PacedRules withRate(long limit, long perMs) {
        return limit == rules.limit() && perMs == rules.perMs() ? this : of(rules.withRate(limit, perMs));
    }
}
