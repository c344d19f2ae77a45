package dev.weir.lease.holder;

import java.util.List;

/**
 * The slots that a reservation uses of a shared limit.
 *
 * @param reservation the number of the reservation
 * @param parts what it took of which lease
 * @param usedAtMs the decision time of its request
 * @param endMs when they end, in ledger time
 */
public record LentSlots(long reservation, List<LeasePart> parts, long usedAtMs, long endMs) {

    public LentSlots {
        parts = List.copyOf(parts);
    }

    long count() {
        long count = 0;
        for (LeasePart part : parts) {
            count += part.tokens();
        }
        return count;
    }
}
