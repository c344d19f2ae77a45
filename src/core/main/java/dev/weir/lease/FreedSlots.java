package dev.weir.lease;

/**
 * Slots that were reported to the ledger and freed before their end.
 *
 * @param usedAtMs the decision time of the request that took them
 * @param endMs when they would have ended, in ledger time
 * @param count slots, 1 or more; others are ignored
 */
public record FreedSlots(long usedAtMs, long endMs, long count) {}
