package dev.weir.lease;

import dev.weir.time.DueTime;
import java.util.List;

/** The response of a ledger to a request for a lease, to a question or to renewals of slots. */
public sealed interface LeaseResponse {

    /** Returns the number of the message that it answers. */
    long number();

    /** Returns the broker's time when it appended the request. */
    long appendedAtMs();

    /**
     * Returns the tokens that the ledger could lend to this holder after the response: those that are neither used, nor
     * lent, nor due to holders that were refused earlier. Below 0 if more than the limit is.
     */
    long free();

    /**
     * A lease was granted.
     *
     * @param leaseId unique among the leases of the ledger, ascending
     * @param amount tokens lent
     * @param fromMs the ledger's time, {@code appendedAtMs} or later; each use of the lease has this decision time or a
     *     later one
     * @param untilMs each use of the lease has an earlier decision time
     */
    record Granted(long number, long leaseId, long amount, long appendedAtMs, long fromMs, long untilMs, long free)
            implements LeaseResponse {

        /** Returns whether nothing is left for this holder. */
        public boolean isLast() {
            return free <= 0;
        }
    }

    /**
     * Not enough tokens are free.
     *
     * @param retryAfterMs how long until enough may be free if no other holder takes it, in milliseconds, 1 or more;
     *     {@link DueTime#NEVER} if the ledger never lends that much
     * @param isLent whether enough would be free without the tokens that other holders seem to hold unused
     */
    record Refused(long number, long appendedAtMs, long free, long retryAfterMs, boolean isLent)
            implements LeaseResponse {}

    /**
     * The answer to a question. Nothing was lent.
     *
     * @param retryAfterMs 0 if the tokens could be lent now; otherwise as in {@link Refused}
     * @param isLent as in {@link Refused}
     */
    record Checked(long number, long appendedAtMs, long free, long retryAfterMs, boolean isLent)
            implements LeaseResponse {}

    /**
     * The answer to renewals of slots. Nothing was lent.
     *
     * @param renewedAtMs the ledger's time of the renewals, {@code appendedAtMs} or later, from which they count; see
     *     {@link SlotRenewal#endMs(long)}
     * @param ended the reservations whose slots had ended, so that they were not renewed
     */
    record Renewed(long number, long appendedAtMs, long free, long renewedAtMs, List<Long> ended)
            implements LeaseResponse {

        public Renewed {
            ended = List.copyOf(ended);
        }
    }
}
