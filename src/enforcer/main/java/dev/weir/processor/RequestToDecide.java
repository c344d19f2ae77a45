package dev.weir.processor;

import dev.weir.event.Request;

/**
 * A request for the task that decides it.
 *
 * @param inOrder whether the task read it from its own partition, whose offsets order the decisions. It did not if the
 *     request was routed, even if the task, after a repartitioning, now reads the partition from which it was routed
 */
public record RequestToDecide(Request request, boolean inOrder) implements DecideInput {}
