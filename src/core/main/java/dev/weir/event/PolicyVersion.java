package dev.weir.event;

/**
 * One version of a policy.
 *
 * @param id the policy's
 * @param version of the policy
 */
public record PolicyVersion(String id, long version) {}
