package dev.weir.lease;

/**
 * How long leases last.
 *
 * @param termMs how long at most a lease may be used
 * @param leadMs how long before a lease is used up or expires the next one is requested
 * @param graceMs how long after its end a lease that is not reported counts as lent, before it is charged as used: a
 *     message that returns it may be under way for long
 */
public record LeaseTerms(long termMs, long leadMs, long graceMs) {

    /** The shortest term that is derived from a window. */
    public static final long MIN_TERM_MS = 200;

    /** Longer round trips do not make terms longer. */
    public static final long MAX_ROUND_TRIP_MS = 20_000;

    public static final LeaseTerms DEFAULTS = new LeaseTerms(5_000, 300, 30_000);

    private static final int TERMS_PER_WINDOW = 4;
    private static final int ROUND_TRIPS_PER_TERM = 3;
    private static final int LEADS_PER_TERM = 3;
    private static final long MAX_MS = 3_600_000;

    /** @throws IllegalArgumentException if a part is out of its range */
    public LeaseTerms {
        require("term", termMs, 1);
        require("lead", leadMs, 0);
        require("grace", graceMs, 0);
    }

    /**
     * The terms for limits with such a window: usage of a lease counts at its last use, so a lease is short beside the
     * window.
     */
    public LeaseTerms forWindow(long windowMs) {
        long partMs = Math.max(MIN_TERM_MS, windowMs / TERMS_PER_WINDOW);
        return of(Math.min(termMs, partMs), leadMs, Math.min(graceMs, partMs));
    }

    /**
     * The terms for a holder whose requests take so long to be answered: a lease outlives its own request and the next
     * one.
     */
    public LeaseTerms withRoundTrip(long roundTripMs) {
        long boundedMs = Math.max(0, Math.min(roundTripMs, MAX_ROUND_TRIP_MS));
        return of(
                Math.max(termMs, ROUND_TRIPS_PER_TERM * boundedMs),
                Math.max(leadMs, boundedMs + boundedMs / 4),
                graceMs);
    }

    /** Terms with a lead that is not too long for them. */
    public static LeaseTerms of(long termMs, long leadMs, long graceMs) {
        return new LeaseTerms(termMs, Math.min(leadMs, termMs / LEADS_PER_TERM), graceMs);
    }

    private static void require(String name, long value, long least) {
        if (value < least || value > MAX_MS) {
            throw new IllegalArgumentException("%s must be %d to %d ms, is %d".formatted(name, least, MAX_MS, value));
        }
    }
}
