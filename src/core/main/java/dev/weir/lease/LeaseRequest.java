package dev.weir.lease;

import java.util.List;

/**
 * What a holder sends to a ledger: usage of the leases that it has, and a request for another one.
 *
 * @param number the response echoes it; a holder accepts only the response to its latest request. 0 if nothing is
 *     requested
 * @param holder who sends it
 * @param minTokens tokens that a waiting request needs, less cannot serve it; 0 if no request waits
 * @param requestedTokens tokens that the holder expects to use within a term, {@code least} or more; 0 if nothing is
 *     requested
 * @param reports usage of leases, each absolute since the lease was granted
 * @param settled tokens used beside all leases; ledgers ignore it if it is negative
 * @param roundTripMs how long requests of this holder take to be answered, 0 if it is not known
 */
public record LeaseRequest(
        long number,
        String holder,
        long minTokens,
        long requestedTokens,
        List<Report> reports,
        long settled,
        long roundTripMs) {

    /**
     * Usage of one lease. A later report includes all that earlier ones said.
     *
     * @param leaseId names it
     * @param used tokens in all
     * @param lastUsedMs the decision time of the last use; meaningless if there was none
     * @param held tokens that are neither used nor returned
     */
    public record Report(long leaseId, long used, long lastUsedMs, long held) {}

    public LeaseRequest {
        reports = List.copyOf(reports);
    }

    /** Returns a message that requests nothing. */
    public static LeaseRequest report(String holder, List<Report> reports, long settled) {
        return new LeaseRequest(0, holder, 0, 0, reports, settled, 0);
    }

    /** Whether a lease is requested. */
    public boolean requestsLease() {
        return requestedTokens > 0;
    }
}
