package dev.weir.shape.effect;

import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.total.InFlightLoan;

/**
 * The stored state of a queue, apart from its buckets.
 *
 * @param rules the rules in force or, if the queue drains, the last ones, by which waiting requests are released
 * @param epoch counts the changes that moved the due times of its buckets; timers of earlier epochs must be set again
 * @param borrowed the slots of its total that are lent to this partition
 */
public record QueueState(QueueRules rules, long epoch, InFlightLoan borrowed) {

    /** Creates the state of a queue that has borrowed nothing. */
    public QueueState(QueueRules rules, long epoch) {
        this(rules, epoch, InFlightLoan.NONE);
    }
}
