package dev.weir.shape.effect;

import dev.weir.shape.rules.QueueRules;

/**
 * The stored state of a queue, apart from its buckets.
 *
 * @param rules the rules in force or, if the queue drains, the last ones, by which waiting requests are released
 * @param epoch counts the changes that moved the due times of its buckets; timers of earlier epochs must be set again
 */
public record QueueState(QueueRules rules, long epoch) {}
