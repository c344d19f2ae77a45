package dev.weir.shape.rules;

/**
 * The part of a queue on one partition.
 *
 * @param queue the id of the queue
 * @param partition the partition of the topic of admissions
 */
public record QueuePartition(String queue, int partition) {}
