package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;

/**
 * The policies that apply to a request, in the versions that are in force at the monotonic time of its keys: a request
 * that is older than the last charge of one of its keys is decided at the time of that charge, and so by the terms of
 * that time.
 *
 * <pre>
 *   at 12:00 version 2 takes over
 *     12:00:02  charged under version 2                  the key's time is 12:00:02
 *     11:59:59  a late request: decided at 12:00:02, under version 2
 * </pre>
 *
 * <p>Which keys a request has depends on the policies that apply, and these on the time. So the time is raised to the
 * latest charge of the keys found, the policies are found again, and so on until no key is ahead or no version takes
 * over later. All versions of a policy are looked at, since the key may have changed with them. Nearly always no
 * version is yet to take over at the time of the request, and nothing of this is done.
 *
 * @param policies one for each layer at most
 * @param atMs the time that selected them, not before the request's
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record PoliciesInForce(Policy[] policies, long atMs) {

    static PoliciesInForce of(Request request, PolicyTable table, PolicyStates states, QuotaSource shared) {
        long atMs = request.timestampMs();
        Policy[] policies = table.applicableAt(request, atMs);
        while (table.changesAfter(atMs)) {
            long latestMs = latestChargeMs(request, policies, table, states, shared);
            if (latestMs <= atMs) {
                break;
            }
            atMs = latestMs;
            policies = table.applicableAt(request, atMs);
        }
        return new PoliciesInForce(policies, atMs);
    }

    /** When the latest request came that was charged to one of the keys that are counted here. */
    private static long latestChargeMs(
            Request request, Policy[] policies, PolicyTable table, PolicyStates states, QuotaSource shared) {
        long latestMs = Long.MIN_VALUE;
        for (Policy policy : policies) {
            for (Policy version : table.versions(policy.id())) {
                boolean isCounted = !version.terms().isEmpty() && !shared.isLeased(version);
                PolicyState state = isCounted ? states.get(version.stateKey(request)) : null;
                latestMs = state == null ? latestMs : Math.max(latestMs, state.lastRequestMs());
            }
        }
        return latestMs;
    }
}
