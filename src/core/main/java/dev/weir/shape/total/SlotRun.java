package dev.weir.shape.total;

import dev.weir.shape.backlog.Pacing;

/**
 * Consecutive release slots of a queue's total. A slot is the time of one token. A request of cost c takes c
 * consecutive slots and is released at the first.
 *
 * @param start the start of the first slot
 * @param slots the number of slots, 1 or more
 */
public record SlotRun(Pacing.Arrival start, long slots) {}
