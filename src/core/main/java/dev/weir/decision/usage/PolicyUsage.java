package dev.weir.decision.usage;

import dev.weir.event.StateKey;
import dev.weir.policy.Policy;
import java.util.List;

/**
 * The usage of one policy by one key at some time.
 *
 * @param policy the version in force at that time
 * @param namesAndValues the names and values of the key fields other than the client, alternating, as in
 *     {@link StateKey#namesAndValues}
 * @param lastChargeMs the time of the last charge, null if there was none
 * @param limits the usage in the order of the policy's limits; empty if they are leased, see {@link SharedPolicyUsage}
 * @param reserved the tokens that open reservations were charged, whose final cost is not known yet; null if that was not
 *     counted
 * @param held for leased limits, the tokens that the leases of the client's partition hold; otherwise null
 */
public record PolicyUsage(
        Policy policy,
        List<String> namesAndValues,
        Long lastChargeMs,
        List<LimitUsage> limits,
        Long reserved,
        Long held) {

    /** Returns this usage with the tokens of open reservations. */
    public PolicyUsage withReserved(Long tokens) {
        return new PolicyUsage(policy, namesAndValues, lastChargeMs, limits, tokens, held);
    }

    /**
     * The usage of one limit.
     *
     * @param label the label of the limit in decisions
     * @param limit the most that can be used at once, null if it is unlimited
     * @param windowMs the time in which that much becomes available, null if there is no such time
     * @param used tokens in use, rounded up; null if it is unlimited
     * @param remaining tokens available, rounded down; null if it is unlimited
     * @param resetAfterMs how long until the whole limit is available
     */
    public record LimitUsage(String label, Long limit, Long windowMs, Long used, Long remaining, long resetAfterMs) {}
}
