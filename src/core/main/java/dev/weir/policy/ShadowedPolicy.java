package dev.weir.policy;

import dev.weir.policy.ThrottleConflict.InForce;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/**
 * A policy that never applies, because another one of its layer goes first and matches all of its requests for as long
 * as it is in force.
 *
 * <p>A single other policy must match them all: each pattern of the other includes patterns of this one
 * ({@link GlobInclusion}). Policies that only together match all of its requests are not found. So what is reported is
 * true, but not all that is true is reported.
 *
 * @param policy the policy that never applies
 * @param by the policy that applies instead
 */
public record ShadowedPolicy(Policy policy, Policy by) {

    /** The most policies that are reported. */
    public static final int MAX_REPORTED = 100;

    /**
     * Returns the first {@value #MAX_REPORTED} policies that never apply from a time on.
     *
     * @param all the policies, with the time until which each is in force
     * @param nowMs the time, in milliseconds since the epoch
     */
    public static List<ShadowedPolicy> of(Collection<InForce> all, long nowMs) {
        return new ShadowSearch(
                        all, PolicyTable.of(all.stream().map(InForce::policy).toList()), nowMs)
                .all();
    }

    /**
     * Returns the first {@value #MAX_REPORTED} policies that never apply from a time on, of those pairs that have a
     * changed policy.
     *
     * @param all the policies, with the time until which each is in force
     * @param table the same policies
     * @param changed the ids of changed policies
     * @param nowMs the time, in milliseconds since the epoch
     */
    public static List<ShadowedPolicy> of(Collection<InForce> all, PolicyTable table, Set<String> changed, long nowMs) {
        return new ShadowSearch(all, table, nowMs).involving(changed);
    }

    /** Returns what is wrong, and what to do. */
    public String message() {
        String why = by.priority() == policy.priority()
                ? "goes first by its id, with the same priority,"
                : "has a higher priority";
        return "policy '" + policy.id() + "' never applies: policy '" + by.id() + "' of the same layer ('"
                + policy.layer() + "') " + why + " and matches all of its requests; give '" + policy.id()
                + "' a higher priority or another layer, or narrow the match of '" + by.id() + "'";
    }
}
