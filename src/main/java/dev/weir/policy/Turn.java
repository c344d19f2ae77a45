package dev.weir.policy;

/**
 * A request's turn to be decided by what is held of shared quota.
 *
 * @param holdings what is held
 * @param nowMs when it is, which those limits go by, ms since the epoch: what was lent ends by the clock, whenever the request came
 * @param isFirst whether it was not asked before: then it stands behind those who wait
 * @param mayWait whether it can wait for what is not at hand
 */
public record Turn(Holdings holdings, long nowMs, boolean isFirst, boolean mayWait) {}
