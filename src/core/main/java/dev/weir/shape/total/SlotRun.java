package dev.weir.shape.total;

import dev.weir.shape.backlog.Pacing;

/**
 * Consecutive release slots of a queue's total. A slot is the time that one token takes; a request of cost c takes c
 * consecutive slots and is released at the first.
 *
 * @param start when the first slot begins
 * @param slots how many, 1 or more
 */
public record SlotRun(Pacing.Arrival start, long slots) {}
