package dev.weir.lease;

/**
 * A request to prolong the slots of a reservation, which the ledger grants if they have not ended.
 *
 * @param reservation the number of the reservation
 * @param usedAtMs the decision time of the request that took the slots
 * @param endMs when they end, in ledger time
 * @param slotMs how long after the renewal they end, in milliseconds
 * @param count slots, 1 or more
 */
public record SlotRenewal(long reservation, long usedAtMs, long endMs, long slotMs, long count) {

    /** The most renewals of a message. */
    public static final int MAX_PER_MESSAGE = 64;

    /** Returns when the slots end if they are renewed at a time of the ledger. They never end earlier than before. */
    public long endMs(long renewedAtMs) {
        return Math.max(endMs, renewedAtMs + slotMs);
    }

    /** Returns the slots, freed. */
    public FreedSlots freed(long atMs) {
        return new FreedSlots(usedAtMs, atMs, count);
    }
}
