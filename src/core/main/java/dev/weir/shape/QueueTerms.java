package dev.weir.shape;

import dev.weir.shape.rules.QueueRules;

/**
 * What the buckets of a queue follow.
 *
 * @param paced the rules in force, or the last ones
 * @param contention how the buckets contend by these rules
 * @param isDraining whether they admit nothing and are removed when they are idle
 */
record QueueTerms(PacedQueueRules paced, Contention contention, boolean isDraining) {

    QueueRules rules() {
        return paced.rules();
    }

    /** Returns these terms with other rules, by which the buckets contend as before. */
    QueueTerms with(PacedQueueRules newRules) {
        return new QueueTerms(newRules, contention, isDraining);
    }

    /** Returns these terms with other rules, and another contention. */
    QueueTerms with(PacedQueueRules newRules, Contention newContention) {
        return new QueueTerms(newRules, newContention, isDraining);
    }

    QueueTerms draining(boolean draining) {
        return new QueueTerms(paced, contention, draining);
    }
}
