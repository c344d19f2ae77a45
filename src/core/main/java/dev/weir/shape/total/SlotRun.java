package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;

/**
 * Consecutive slots of a queue's total. A slot is the time of one token. A request of cost c takes the time of c slots,
 * from any time within the run on, and is released at the start of that time.
 *
 * @param start the start of the first slot
 * @param slots the number of slots, 1 or more
 */
public record SlotRun(Pacing.Arrival start, long slots) {}
