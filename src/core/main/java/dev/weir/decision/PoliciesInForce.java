package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;

/**
 * The policies that apply to a request, in the versions in force at the monotonic time of its keys. A request that
 * is older than the last charge of one of its keys is decided at the time of that charge, and so by the versions of
 * that time.
 *
 * <pre>
 *   at 12:00 version 2 takes effect
 *     12:00:02  charged under version 2                  the key's time is 12:00:02
 *     11:59:59  a late request: decided at 12:00:02, under version 2
 * </pre>
 *
 * <p>The keys of a request depend on the policies that apply, and these depend on the time. So the time is raised to
 * the latest charge of the keys found, and the policies are looked up again, until no key is ahead or no version takes
 * effect later. All versions of a policy are considered, since their keys can differ. If no version takes effect after
 * the time of the request, which is nearly always so, one lookup suffices.
 *
 * @param policies at most one per layer
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

    /** Returns the time of the latest request that was charged to one of the keys counted in {@code states}. */
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
