package dev.weir.shape;

/**
 * What is kept of a queue beside what waits in it.
 *
 * @param rules those in force, or the last that were: what waits when a queue is deleted leaves by them
 * @param outflow counted under these rules
 */
public record QueueState(QueueRules rules, Outflow outflow) {}
