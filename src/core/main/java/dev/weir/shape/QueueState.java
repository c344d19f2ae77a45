package dev.weir.shape;

import dev.weir.shape.backlog.QueueRules;

/**
 * What is kept of a queue beside its buckets.
 *
 * @param rules those in force, or the last that were: what waits when a queue is deleted leaves by them
 * @param epoch counts the changes that moved the due times of its buckets: timers of earlier epochs are to be set again
 */
public record QueueState(QueueRules rules, long epoch) {}
