package dev.weir.lease.ledger;

/**
 * A lease that a ledger has lent and that counts as lent.
 *
 * @param leaseId the id of the lease
 * @param holder the name of the holder
 * @param amount tokens that are neither reported as used nor returned
 * @param used tokens that were reported as used
 * @param requestedTokens the tokens that were requested
 * @param untilMs when the lease ends
 * @param dueMs when the amount is charged as used if it is not reported; slots, when they have ended
 */
public record OutstandingLease(
        long leaseId, String holder, long amount, long used, long requestedTokens, long untilMs, long dueMs) {

    /** Returns the lease after a report: {@code more} tokens were used, and {@code held} are kept. */
    OutstandingLease reported(long more, long held) {
        return new OutstandingLease(leaseId, holder, held, used + more, requestedTokens, untilMs, dueMs);
    }

    OutstandingLease dueNotBefore(long atMs) {
        return new OutstandingLease(leaseId, holder, amount, used, requestedTokens, untilMs, Math.max(dueMs, atMs));
    }

    /** Returns the decision time of a use that is reported: it is before the end of the lease. */
    long useMs(long reportedMs) {
        return Math.min(reportedMs, untilMs - 1);
    }
}
