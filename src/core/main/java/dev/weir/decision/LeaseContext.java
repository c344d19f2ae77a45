package dev.weir.decision;

import dev.weir.policy.Policy;

/**
 * Looks up shared limits in leases, for one decision.
 *
 * @param leases those of the process that decides
 * @param nowMs when it decides, by the monotonic clock of the holder of the leases
 * @param isFirstAttempt whether the request was not decided before: then it stands behind those that wait
 * @param mayWait whether it may wait for a lease
 */
public record LeaseContext(WritableLeases leases, long nowMs, boolean isFirstAttempt, boolean mayWait)
        implements QuotaSource {

    /** The context of a decision that leaves the leases unchanged, and requests none. */
    public static LeaseContext readOnly(HeldLeases leases, long nowMs, boolean isFirst, boolean mayWait) {
        return new LeaseContext(new ReadOnlyLeases(leases), nowMs, isFirst, mayWait);
    }

    @Override
    public boolean isLeased(Policy policy) {
        return policy.isShared();
    }
}
