package dev.weir.lease;

/**
 * A part of a shared quota that a ledger has lent to a holder for a while.
 *
 * <p>A use has a decision time {@code u} with {@code fromMs ≤ u < untilMs}: the broker's clock when it appended the
 * request for the lease, plus what has passed since the request was <em>sent</em> by the holder's monotonic clock. The
 * request was sent before it was appended, so decision times are never behind the broker's clock, but for the drift of
 * clocks, and a lease {@linkplain #expiresAtMs expires} in time, whatever the wall clocks of holder and ledger show
 * (Gray and Cheriton, "Leases", SOSP 1989).
 *
 * @param id names it among all of its ledger
 * @param amount tokens
 * @param used of them
 * @param lastUsedMs the decision time of the last use
 * @param appendedAtMs the broker's time when it appended the request
 * @param fromMs the ledger's time then: that, or the latest time of a use that it knew of
 * @param sentMs when it was requested, by the holder's monotonic clock
 * @param isReported whether the ledger was sent the present usage
 * @param isClosing whether the tokens that will not be used were returned, since it expires soon
 */
public record Lease(
        long id,
        long amount,
        long used,
        long lastUsedMs,
        long appendedAtMs,
        long fromMs,
        long untilMs,
        long sentMs,
        boolean isReported,
        boolean isClosing) {

    /** The monotonic clocks of two machines may differ in rate by one part in this many. */
    public static final int MAX_DRIFT_PARTS = 50;

    static final long LONG_AGO_MS = Long.MIN_VALUE / 4;

    /** One that was granted in response to a request sent at {@code sentMs}. */
    static Lease granted(LeaseResponse.Granted granted, long sentMs) {
        return new Lease(
                granted.leaseId(),
                granted.amount(),
                0,
                0,
                granted.appendedAtMs(),
                granted.fromMs(),
                granted.untilMs(),
                sentMs,
                true,
                false);
    }

    long remaining() {
        return amount - used;
    }

    /** When it expires, by the holder's monotonic clock. */
    long expiresAtMs() {
        long termMs = untilMs - appendedAtMs;
        return sentMs + termMs - termMs / MAX_DRIFT_PARTS;
    }

    /** How far the broker's clock is ahead of the holder's, at most: the request was appended after it was sent. */
    long brokerAheadMs() {
        return appendedAtMs - sentMs;
    }

    Lease used(long tokens, long useMs) {
        return new Lease(id, amount, used + tokens, useMs, appendedAtMs, fromMs, untilMs, sentMs, false, isClosing);
    }

    /** With what is left after a report: {@code held} tokens. */
    Lease reported(long held, boolean closing) {
        return new Lease(id, used + held, used, lastUsedMs, appendedAtMs, fromMs, untilMs, sentMs, true, closing);
    }

    /** With nothing left to use, and expired; the ledger is yet to be sent its usage. */
    Lease revoked() {
        return new Lease(id, used, used, lastUsedMs, appendedAtMs, fromMs, untilMs, LONG_AGO_MS, false, true);
    }

    /** When the last token was used, by the holder's clock, or somewhat later. */
    long usedUpAtMs() {
        return sentMs + Math.max(0, lastUsedMs - appendedAtMs);
    }
}
