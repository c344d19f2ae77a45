package dev.weir.lease;

/**
 * How quota is lent.
 *
 * @param termMs for how long at most a slice may be used
 * @param leadMs how long before a slice is used up the next one is asked for: as long as a question and its answer take
 * @param marginMs by how much the clocks of brokers may differ: a holder stops so long before a slice ends
 */
public record LeaseTerms(long termMs, long leadMs, long marginMs) {

    private static final int PARTS_OF_WINDOW = 4;

    /** However short a window is. */
    public static final long MIN_TERM_MS = 200;

    public static final LeaseTerms DEFAULTS = new LeaseTerms(5_000, 300, 10);

    /** @throws IllegalArgumentException if a part is out of its range */
    public LeaseTerms {
        require("term", termMs, 1, 3_600_000);
        require("lead", leadMs, 0, 3_600_000);
        require("clock-margin", marginMs, 0, termMs - 1);
    }

    /** As they are for limits of these windows: what is used of a slice counts as used at its last use, so it is short beside them. */
    public LeaseTerms within(long windowMs) {
        long partMs = Math.min(termMs, Math.max(MIN_TERM_MS, windowMs / PARTS_OF_WINDOW));
        return new LeaseTerms(partMs, Math.min(leadMs, partMs / 2), Math.min(marginMs, partMs / 4));
    }

    private static void require(String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s must be %d to %d ms, is %d".formatted(name, least, most, value));
        }
    }
}
