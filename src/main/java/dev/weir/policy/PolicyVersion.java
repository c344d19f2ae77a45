package dev.weir.policy;

/**
 * One version of a policy.
 *
 * @param id the policy's
 * @param version of the policy
 */
public record PolicyVersion(String id, long version) {

    public static PolicyVersion of(Policy policy) {
        return new PolicyVersion(policy.id(), policy.version());
    }
}
