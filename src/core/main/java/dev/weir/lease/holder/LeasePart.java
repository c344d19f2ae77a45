package dev.weir.lease.holder;

/**
 * What a reservation took of a lease.
 *
 * @param leaseId the lease
 * @param tokens tokens, 1 or more
 * @param reports how often the usage of the lease had been reported before. As long as it is not reported again, the
 *     tokens can return to the lease
 */
public record LeasePart(long leaseId, long tokens, long reports) {}
