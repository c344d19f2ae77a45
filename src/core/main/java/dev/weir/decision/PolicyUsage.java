package dev.weir.decision;

import dev.weir.event.StateKey;
import dev.weir.policy.Policy;
import java.util.List;

/**
 * What one key has used of one policy, at some time.
 *
 * @param policy the version in force then
 * @param namesAndValues the names and values of its key fields beside the client, by turns, as in {@link
 *     StateKey#namesAndValues}
 * @param lastChargeMs the time of its last charge, null if it has none
 * @param limits in the order of the policy's limits; none if they are shared: {@link SharedPolicyUsage} tells those
 * @param held of limits that are shared: tokens that the client's partition has at hand; null if they are not
 */
public record PolicyUsage(
        Policy policy, List<String> namesAndValues, Long lastChargeMs, List<LimitUsage> limits, Long held) {

    /**
     * What was used of one limit.
     *
     * @param label as decisions name it
     * @param limit the most that it gives at once, null if it is unlimited
     * @param windowMs in which time that much comes, null if there is no such time
     * @param used tokens in use, rounded up; null if it is unlimited
     * @param remaining tokens that can still be had, rounded down; null if it is unlimited
     * @param resetAfterMs when the whole limit is free again
     */
    public record LimitUsage(String label, Long limit, Long windowMs, Long used, Long remaining, long resetAfterMs) {}
}
