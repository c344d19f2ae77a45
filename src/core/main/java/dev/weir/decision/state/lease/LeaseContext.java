package dev.weir.decision.state.lease;

import dev.weir.policy.Policy;

/**
 * The quota source of one decision that looks up shared limits in leases.
 *
 * @param leases the leases that the deciding process holds
 * @param nowMs the time of the decision, by the holder's monotonic clock
 * @param isFirstAttempt whether the request is decided for the first time; then it goes behind those that wait
 * @param mayWait whether the request can wait for a lease
 */
public record LeaseContext(WritableLeases leases, long nowMs, boolean isFirstAttempt, boolean mayWait)
        implements QuotaSource {

    /** Returns the context of a decision that leaves the leases unchanged and requests none. */
    public static LeaseContext readOnly(HeldLeases leases, long nowMs, boolean isFirst, boolean mayWait) {
        return new LeaseContext(new ReadOnlyLeases(leases), nowMs, isFirst, mayWait);
    }

    @Override
    public boolean isLeased(Policy policy) {
        return policy.isShared();
    }

    @Override
    public QuotaSource readOnly() {
        return readOnly(leases, nowMs, false, false);
    }
}
