package dev.weir.event;

import java.util.Map;

/**
 * A report of what a lease holder has decided by one lease since its last report, summed over all these requests.
 *
 * @param origin identifies the report
 * @param policy the policy of the shared quota
 * @param key the fields of the policy's key and their values; a field that the requests lack has an empty value
 * @param amount the sums
 * @param sinceMs the time of the first request that was allowed, or of the first denied one if none was allowed, in
 *     milliseconds since the epoch
 * @param untilMs the time of the last such request, in milliseconds since the epoch
 */
public record LeaseUsage(
        Origin origin, PolicyVersion policy, Map<String, String> key, Amount amount, long sinceMs, long untilMs) {

    /**
     * Identifies a report.
     *
     * @param holder the lease holder
     * @param leaseId the id of the lease in its ledger; 0 if the holder has had none so far
     * @param number the number of the report among those of the holder, from 1
     */
    public record Origin(String holder, long leaseId, long number) {}

    /**
     * The usage that a report covers.
     *
     * @param cost the total cost of the requests that were allowed
     * @param requests the number of requests that were allowed
     * @param denied the number of requests that this policy denied
     */
    public record Amount(long cost, long requests, long denied) {}

    public LeaseUsage {
        key = Map.copyOf(key);
    }
}
