package dev.weir.lease;

/**
 * Tokens that were used by a lease and reported to the ledger, but turned out not to be needed.
 *
 * @param leaseId the lease
 * @param sinceMs the decision time of the use
 * @param tokens tokens, 1 or more; others are ignored
 */
public record Refund(long leaseId, long sinceMs, long tokens) {}
