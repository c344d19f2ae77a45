package dev.weir.lease;

/**
 * Slots of a limit of concurrency that end at the same time.
 *
 * @param endMs when they end if they are not freed, in ledger time
 * @param count slots, 1 or more; others are ignored
 */
public record SlotUse(long endMs, long count) {}
