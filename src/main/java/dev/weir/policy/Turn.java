package dev.weir.policy;

/**
 * The circumstances of a decision on shared quotas.
 *
 * @param holdings the leases
 * @param nowMs when it is decided, by the monotonic clock of the holder of the leases
 * @param isFirst whether the request was not decided before: then it stands behind those that wait
 * @param mayWait whether it may wait for a lease
 */
public record Turn(Holdings holdings, long nowMs, boolean isFirst, boolean mayWait) {}
