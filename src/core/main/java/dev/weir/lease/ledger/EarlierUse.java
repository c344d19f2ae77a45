package dev.weir.lease.ledger;

import dev.weir.lease.Refund;
import dev.weir.limit.LimitAccount;
import java.util.List;

/**
 * How a ledger charges usage that is reported after its lease's limit was suspended or reset. An immutable value.
 *
 * @param suspended accounts of limits that are suspended, because the policy permits everything or nothing instead.
 *     Leases from before are charged to them, too
 * @param suspendedBeforeId the leases from before the suspension are those with lower ids
 * @param resetBeforeId the leases from before the last reset are those with lower ids
 * @param resetMs the broker's time when it appended the last reset. Uses that are not after it are not charged
 * @param resetHolder the holder that sent the last reset, after it had reported all usage: what it reports later is
 *     charged; empty if there was no reset
 * @param refundable what can be refunded
 */
public record EarlierUse(
        List<LimitAccount<?>> suspended,
        long suspendedBeforeId,
        long resetBeforeId,
        long resetMs,
        String resetHolder,
        RefundableUse refundable) {

    /** Nothing was suspended or reset, and nothing can be refunded. */
    public static final EarlierUse NONE = new EarlierUse(List.of(), 0, 0, 0, "", RefundableUse.NONE);

    public EarlierUse {
        suspended = List.copyOf(suspended);
    }

    /** Returns whether a use of a lease is also charged to the suspended accounts. */
    boolean isBeforeSuspension(long leaseId) {
        return leaseId < suspendedBeforeId && !suspended.isEmpty();
    }

    /**
     * Returns whether a report has only uses that the last reset has freed. Decision times are not behind the broker's
     * time, so a use with an earlier decision time took place before the reset was appended.
     */
    boolean isFreed(OutstandingLease lease, long lastUsedMs) {
        return lease.leaseId() < resetBeforeId
                && lastUsedMs <= resetMs
                && !lease.holder().equals(resetHolder);
    }

    /** Returns whether a refund is of what the last reset has freed, or of an account from before. */
    boolean isFreed(Refund refund) {
        return refund.leaseId() < resetBeforeId && refund.sinceMs() <= resetMs;
    }

    /** Returns this with other suspended accounts, for leases from before the same time. */
    EarlierUse withSuspended(List<LimitAccount<?>> others) {
        return withSuspended(others, suspendedBeforeId);
    }

    EarlierUse withSuspended(List<LimitAccount<?>> others, long beforeId) {
        return new EarlierUse(others, beforeId, resetBeforeId, resetMs, resetHolder, refundable);
    }

    EarlierUse with(RefundableUse next) {
        return next.equals(refundable)
                ? this
                : new EarlierUse(suspended, suspendedBeforeId, resetBeforeId, resetMs, resetHolder, next);
    }
}
