package dev.weir.event;

/**
 * Identifies one version of a policy.
 *
 * @param id the id of the policy
 * @param version the version
 */
public record PolicyVersion(String id, long version) {}
