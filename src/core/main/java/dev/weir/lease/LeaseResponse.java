package dev.weir.lease;

/** The response of a ledger to a request for a lease. */
public sealed interface LeaseResponse {

    /** Returns the number of the request. */
    long number();

    /** Returns the broker's time when it appended the request. */
    long appendedAtMs();

    /**
     * A lease was granted.
     *
     * @param leaseId unique among the leases of the ledger, ascending
     * @param amount tokens lent
     * @param fromMs the ledger's time, {@code appendedAtMs} or later; each use of the lease has this decision time or a
     *     later one
     * @param untilMs each use of the lease has an earlier decision time
     * @param isLast whether nothing is left for this holder: the rest is used, lent, or due to holders that were
     *     refused earlier
     */
    record Granted(long number, long leaseId, long amount, long appendedAtMs, long fromMs, long untilMs, boolean isLast)
            implements LeaseResponse {}

    /**
     * Not enough tokens are free.
     *
     * @param retryAfterMs how long until enough may be free if no other holder takes it, in milliseconds, 1 or more;
     *     {@link Long#MAX_VALUE} if the ledger never lends that much
     * @param isLent whether enough would be free without the tokens that other holders seem to hold unused
     */
    record Refused(long number, long appendedAtMs, long retryAfterMs, boolean isLent) implements LeaseResponse {}
}
