package dev.weir.lease;

/** What a ledger answers to a request for a lease. */
public sealed interface LeaseResponse {

    /** The number of the request that it answers. */
    long number();

    /** The broker's time when it appended the request. */
    long appendedAtMs();

    /**
     * A lease.
     *
     * @param leaseId names it among all of this ledger, rising
     * @param fromMs the ledger's time, {@code atMs} or later: no use of the lease has an earlier decision time
     * @param untilMs no use of the lease has this decision time or a later one
     * @param isLast whether nothing is left for this holder: all else is used, lent, or due to holders that were
     *     refused before
     */
    record Granted(long number, long leaseId, long amount, long appendedAtMs, long fromMs, long untilMs, boolean isLast)
            implements LeaseResponse {}

    /**
     * Not enough is free.
     *
     * @param retryAfterMs when enough may be free, 1 or more, if no other holder takes it; {@link Long#MAX_VALUE}: so
     *     much is never lent
     */
    record Refused(long number, long appendedAtMs, long retryAfterMs) implements LeaseResponse {}
}
