package dev.weir.lease;

/**
 * The timing of leases.
 *
 * @param termMs the longest time that a lease can be used, in milliseconds
 * @param leadMs how long before a lease is used up or expires the next one is requested, in milliseconds
 * @param graceMs how long after its end an unreported lease still counts as lent, in milliseconds; then it is charged
 *     as used. It leaves time for a report that is delayed
 * @param lendsSlots whether slots of limits of concurrency are lent that are enforced: only for requests that wait, and
 *     unused ones are returned a lead later
 */
public record LeaseTerms(long termMs, long leadMs, long graceMs, boolean lendsSlots) {

    /** The shortest term that is derived from a window, in milliseconds. */
    public static final long MIN_TERM_MS = 200;

    /** The longest round trip that affects terms, in milliseconds. */
    public static final long MAX_ROUND_TRIP_MS = 20_000;

    /** A term of 5 s, a lead of 300 ms and a grace period of 30 s. */
    public static final LeaseTerms DEFAULTS = new LeaseTerms(5_000, 300, 30_000);

    /**
     * An unanswered message is repeated after this time, or later. Repeating is needed only if a message is lost.
     */
    public static final long MIN_RESEND_MS = 5_000;

    private static final int TERMS_PER_WINDOW = 4;
    private static final int ROUND_TRIPS_PER_TERM = 3;
    private static final int LEADS_PER_TERM = 3;
    private static final long MAX_MS = 3_600_000;

    /** Creates the terms of tokens. */
    public LeaseTerms(long termMs, long leadMs, long graceMs) {
        this(termMs, leadMs, graceMs, false);
    }

    /** @throws IllegalArgumentException if a part is out of its range */
    public LeaseTerms {
        require("term", termMs, 1);
        require("lead", leadMs, 0);
        require("grace", graceMs, 0);
    }

    /**
     * Returns the terms for limits with a window of {@code windowMs}. The usage of a lease is charged at the time of
     * its last use, so the term must be short compared with the window: at most a quarter of it, but at least
     * {@link #MIN_TERM_MS}.
     */
    public LeaseTerms forWindow(long windowMs) {
        long partMs = Math.max(MIN_TERM_MS, windowMs / TERMS_PER_WINDOW);
        return of(Math.min(termMs, partMs), leadMs, Math.min(graceMs, partMs)).lendingSlots(lendsSlots);
    }

    /**
     * Returns the terms for a holder whose requests take {@code roundTripMs} to be answered. The term is at least three
     * round trips, so that a lease outlives its own request and the next one.
     */
    public LeaseTerms withRoundTrip(long roundTripMs) {
        long boundedMs = Math.max(0, Math.min(roundTripMs, MAX_ROUND_TRIP_MS));
        return of(
                        Math.max(termMs, ROUND_TRIPS_PER_TERM * boundedMs),
                        Math.max(leadMs, boundedMs + boundedMs / 4),
                        graceMs)
                .lendingSlots(lendsSlots);
    }

    /**
     * Returns how long after a refusal the same amount may be requested again at the latest: other holders return leases
     * and limits change, and any slot can be freed.
     */
    public long retryMs() {
        return lendsSlots ? leadMs : termMs;
    }

    /** Returns how long after it was sent an unanswered request is repeated. */
    public long resendMs() {
        return Math.max(termMs, MIN_RESEND_MS);
    }

    /** Returns these terms for slots, or for tokens. */
    public LeaseTerms lendingSlots(boolean slots) {
        return new LeaseTerms(termMs, leadMs, graceMs, slots);
    }

    /** Returns terms with the lead reduced to a third of the term if it is longer. */
    public static LeaseTerms of(long termMs, long leadMs, long graceMs) {
        return new LeaseTerms(termMs, Math.min(leadMs, termMs / LEADS_PER_TERM), graceMs);
    }

    private static void require(String name, long value, long least) {
        if (value < least || value > MAX_MS) {
            throw new IllegalArgumentException("%s must be %d to %d ms, is %d".formatted(name, least, MAX_MS, value));
        }
    }
}
