package dev.weir.decision.state;

import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.Request;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.Arrays;

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
 * <p>A policy that only observes, both at that time and at the last charge of its key, does not raise the time.
 *
 * <p>A RESET that names a policy is for that one alone, and decided at its time.
 *
 * @param policies at most one per layer
 * @param atMs the time that selected them, not before the request's
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record PoliciesInForce(Policy[] policies, long atMs) {

    public static PoliciesInForce of(Request request, PolicyTable table, PolicyStates states, QuotaSource shared) {
        long atMs = request.timestampMs();
        Policy[] policies = addressed(request, table.applicableAt(request, atMs));
        while (table.changesAfter(atMs)) {
            long latestMs = latestChargeMs(request, policies, atMs, table, states, shared);
            if (latestMs <= atMs) {
                break;
            }
            atMs = latestMs;
            policies = addressed(request, table.applicableAt(request, atMs));
        }
        return new PoliciesInForce(policies, atMs);
    }

    private static Policy[] addressed(Request request, Policy[] policies) {
        return request.policyId() == null
                ? policies
                : Arrays.stream(policies)
                        .filter(policy -> policy.isAddressedBy(request))
                        .toArray(Policy[]::new);
    }

    /**
     * Returns the next time after {@code nowMs} at which a policy that does not only observe ends, or a later version
     * of it takes effect; {@link EffectivePeriod#NO_END} if there is none.
     */
    public long nextChangeMs(PolicyTable table, long nowMs) {
        long changeMs = EffectivePeriod.NO_END;
        for (Policy policy : enforcing()) {
            changeMs = policy.effectiveUntilMs() > nowMs ? Math.min(changeMs, policy.effectiveUntilMs()) : changeMs;
            for (Policy other : table.versions(policy.id())) {
                boolean isNext = other.version() > policy.version() && other.effectiveFromMs() > nowMs;
                changeMs = isNext ? Math.min(changeMs, other.effectiveFromMs()) : changeMs;
            }
        }
        return changeMs;
    }

    /** Returns the policies that do not only observe. */
    public Policy[] enforcing() {
        return Arrays.stream(policies).filter(policy -> !policy.observes()).toArray(Policy[]::new);
    }

    /**
     * Returns the time at which the policies that do not only observe decide: that of the latest request that was
     * charged to one of their keys, or {@link #atMs} if that is later.
     */
    public long decidedAtMs(Request request, PolicyStates states, QuotaSource shared) {
        long decidedAtMs = atMs;
        for (Policy policy : enforcing()) {
            boolean isCounted = !policy.terms().isEmpty() && !shared.isLeased(policy);
            PolicyState state = isCounted ? states.get(policy.stateKey(request)) : null;
            decidedAtMs = state == null ? decidedAtMs : Math.max(decidedAtMs, state.lastRequestMs());
        }
        return decidedAtMs;
    }

    /** Returns the time of the latest request that was charged to one of the keys counted in {@code states}. */
    private static long latestChargeMs(
            Request request, Policy[] policies, long atMs, PolicyTable table, PolicyStates states, QuotaSource shared) {
        long latestMs = Long.MIN_VALUE;
        for (Policy policy : policies) {
            for (Policy version : table.versions(policy.id())) {
                boolean isCounted = !version.terms().isEmpty() && !shared.isLeased(version);
                PolicyState state = isCounted ? states.get(version.stateKey(request)) : null;
                long lastMs = state == null ? atMs : state.lastRequestMs();
                if (lastMs > atMs && !(policy.observes() && observes(table, version, lastMs))) {
                    latestMs = Math.max(latestMs, lastMs);
                }
            }
        }
        return latestMs;
    }

    /** Returns whether a policy only observed at {@code atMs}: by the version then in force, or else by this one. */
    private static boolean observes(PolicyTable table, Policy version, long atMs) {
        Policy then = table.inForce(version.id(), atMs);
        return then == null ? version.observes() : then.observes();
    }
}
