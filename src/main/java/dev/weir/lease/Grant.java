package dev.weir.lease;

/** What a ledger answers. */
public sealed interface Grant {

    /**
     * A slice of the quota.
     *
     * @param lease names it, among all of this ledger
     * @param fromMs the ledger's time: no use of it is earlier
     * @param untilMs from when on it must not be used
     */
    record Slice(long lease, long amount, long fromMs, long untilMs) implements Grant {}

    /**
     * There is not enough.
     *
     * @param atMs the ledger's time
     * @param retryAfterMs when there may be, 1 or more, if nobody else takes it; {@link Long#MAX_VALUE}: so much is never lent
     */
    record Nothing(long atMs, long retryAfterMs) implements Grant {}
}
