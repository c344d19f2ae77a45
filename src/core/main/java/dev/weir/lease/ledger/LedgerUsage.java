package dev.weir.lease.ledger;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.Refund;
import dev.weir.lease.SlotUse;
import dev.weir.limit.Charge;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What is used of the limits of a ledger: reported tokens, those that count as used, and slots until they end. An
 * immutable value.
 *
 * <pre>
 *   reported      charged at the time of the last use, or of the last charge if that is later; slots until their ends
 *   unreported    tokens are charged at the last millisecond of the lease; slots have ended
 *   refunded      charges are made smaller, as if less had been used from the start; slots are freed
 *   settled       tokens that exceed all leases are charged now, up to a maximum
 *   reset         nothing is used; uses from before that are reported later are not charged
 * </pre>
 *
 * <p><b>Refunds.</b> A reservation that turns out to need less returns its tokens to its lease, if they are not
 * reported yet. They are part of an outstanding lease as before, so the proof of {@link Ledger} holds with the smaller
 * use. Otherwise the ledger refunds a charge. The proof needs, at each time, an assignment of the remaining uses to the
 * charges such that each is charged at its time {@code u} or later. A refund of a use at {@code u} takes the first
 * charge {@code c' ≥ u} that is left. If that was assigned to another use, at {@code u' ≤ c'}, this is now assigned to
 * the charge {@code c ≥ c'} of the refunded one. A window is refunded if {@code u} is in it; then so is {@code c}. A
 * bucket is as full as if a charge of the same lease, not before {@code u} and not after {@code c}, had been smaller
 * ({@link Limit#refunded}). So what is in use after a refund is never less than with the smaller use from the start. It
 * can be more if there were other uses between {@code u} and {@code c}, or if a lease extends beyond a window.
 *
 * <p>{@link LentSlotCounts} has the rules and the proof for slots.
 *
 * @param clockMs the ledger's time, which never decreases: broker time, or the latest reported decision time if that
 *     is later
 * @param lastChargeMs the time of the last charge
 * @param accounts the accounts of the limits, all of which are charged together
 * @param earlier how usage by leases from before a suspension or a reset is charged, and which usage can be refunded
 */
public record LedgerUsage(long clockMs, long lastChargeMs, List<LimitAccount<?>> accounts, EarlierUse earlier) {

    /** What is available of no limits. */
    static final long UNBOUNDED = Long.MAX_VALUE;

    public LedgerUsage {
        accounts = List.copyOf(accounts);
    }

    /** Returns the usage of limits that have not been used. */
    static LedgerUsage none(List<? extends Limit<?>> limits, long nowMs) {
        List<LimitAccount<?>> accounts = new ArrayList<>();
        limits.forEach(limit -> accounts.add(LimitAccount.open(limit, nowMs)));
        return new LedgerUsage(nowMs, nowMs, accounts, EarlierUse.NONE);
    }

    /** Returns the usage at a time, which must not be before its own. */
    LedgerUsage at(long nowMs) {
        return nowMs == clockMs ? this : new LedgerUsage(nowMs, lastChargeMs, accounts, earlier);
    }

    /** Returns the tokens that are not used. Below 0 if more than the limit is. */
    long available() {
        long available = UNBOUNDED;
        for (LimitAccount<?> account : accounts) {
            available = Math.min(available, account.limit().capacity() - account.used(clockMs));
        }
        return available;
    }

    /**
     * Returns the usage of other accounts, from now on.
     *
     * @param suspended the accounts that are suspended
     * @param suspendedBeforeId leases with lower ids are charged to them
     * @param refundableAfterMs for each account the time up to which its uses are not refunded
     */
    LedgerUsage withAccounts(
            List<LimitAccount<?>> next,
            List<LimitAccount<?>> suspended,
            long suspendedBeforeId,
            List<Long> refundableAfterMs) {
        EarlierUse then = earlier.withSuspended(suspended, suspendedBeforeId)
                .with(earlier.refundable().after(refundableAfterMs));
        // the migrated states start at clockMs, so no charge may have an earlier time
        return new LedgerUsage(clockMs, clockMs, next, then);
    }

    /** Returns this usage with its accounts in the form in which they are stored. */
    LedgerUsage withStored(List<LimitAccount<?>> stored, List<LimitAccount<?>> suspended) {
        return new LedgerUsage(clockMs, lastChargeMs, stored, earlier.withSuspended(suspended));
    }

    /**
     * Returns unused accounts, without suspended ones.
     *
     * @param beforeId leases with lower ids are from before the reset
     * @param holder the holder that sent the reset
     * @param nowMs the broker's time when it appended the reset
     */
    LedgerUsage reset(List<LimitAccount<?>> unused, long beforeId, String holder, long nowMs) {
        RefundableUse refundable = earlier.refundable().after(unused.size(), Math.max(clockMs, nowMs));
        EarlierUse then = new EarlierUse(List.of(), 0, beforeId, nowMs, holder, refundable);
        return new LedgerUsage(clockMs, clockMs, unused, then);
    }

    /**
     * Returns the usage after a report of a lease.
     *
     * @param used the tokens that it reports as used, and that no earlier report does
     * @param leases the outstanding leases, including this one
     */
    LedgerUsage reported(OutstandingLease lease, long used, LeaseRequest.Report report, OutstandingLeases leases) {
        LedgerUsage known = report.isReserved() ? with(earlier.refundable().reserved(leases.firstId())) : this;
        if (used == 0 || earlier.isFreed(lease, report.lastUsedMs())) {
            return known;
        }
        Charge charge = new Charge(lease.leaseId(), lease.useMs(report.lastUsedMs()), used);
        return known.charge(charge, report.isReserved(), Optional.of(report.slots()));
    }

    /** Returns the usage after a lease was not reported in time: its tokens count as used, and its slots have ended. */
    LedgerUsage unreported(OutstandingLease lease) {
        LedgerUsage known = with(earlier.refundable().unreported(lease.leaseId()));
        Charge charge = new Charge(lease.leaseId(), lease.untilMs() - 1, lease.amount());
        return known.charge(charge, known.earlier.refundable().hasReserved(), Optional.empty());
    }

    private LedgerUsage with(RefundableUse next) {
        return new LedgerUsage(clockMs, lastChargeMs, accounts, earlier.with(next));
    }

    /** @param slots the ends of the slots; empty if they have all passed, because they were not reported in time */
    private LedgerUsage charge(Charge use, boolean isReserved, Optional<List<SlotUse>> slots) {
        Charge charge = new Charge(use.number(), Math.max(lastChargeMs, use.atMs()), use.cost());
        EarlierUse then = earlier.isBeforeSuspension(use.number())
                ? earlier.withSuspended(charged(earlier.suspended(), charge, false, slots))
                : earlier;
        return new LedgerUsage(clockMs, charge.atMs(), charged(accounts, charge, isReserved, slots), then);
    }

    private List<LimitAccount<?>> charged(
            List<LimitAccount<?>> of, Charge charge, boolean isReserved, Optional<List<SlotUse>> slots) {
        List<LimitAccount<?>> next = new ArrayList<>(of.size());
        for (LimitAccount<?> account : of) {
            if (account.limit() instanceof Concurrency limit) {
                next.add(slots.<LimitAccount<?>>map(ends ->
                                LentSlotCounts.reported(limit, account, ends, charge.cost(), charge.atMs(), clockMs))
                        .orElse(account));
            } else {
                next.add(isReserved ? account.chargeReserved(charge) : account.charge(charge.cost(), charge.atMs()));
            }
        }
        return next;
    }

    /**
     * Refunds what reservations have used, as if they had not, and frees their slots, unless the message was received
     * before. Usage of accounts that have been replaced or reset since is not refunded.
     *
     * @param nextLeaseId leases with lower ids have been lent
     */
    LedgerUsage refunded(String holder, LeaseRequest.Refunds refunds, long nextLeaseId) {
        RefundableUse refundable = earlier.refundable();
        boolean hasAny = !refunds.refunds().isEmpty() || !refunds.freed().isEmpty();
        if (!hasAny || !refundable.isNew(holder, refunds.number()) || !refundable.hasReserved()) {
            return this;
        }
        List<LimitAccount<?>> next = new LentSlotCounts(this).freed(refunds.freed());
        int most = Math.min(refunds.refunds().size(), LeaseRequest.MAX_REFUNDS);
        for (Refund refund : refunds.refunds().subList(0, most)) {
            boolean isCharged = refund.tokens() > 0
                    && refund.leaseId() >= refundable.fromLeaseId()
                    && refund.leaseId() < nextLeaseId
                    && !earlier.isFreed(refund);
            for (int i = 0; i < next.size() && isCharged; i++) {
                if (refund.sinceMs() > refundable.afterMs(i)) {
                    Charge charge = new Charge(refund.leaseId(), refund.sinceMs(), refund.tokens());
                    next.set(i, next.get(i).refunded(charge, lastChargeMs));
                }
            }
        }
        EarlierUse then = earlier.with(refundable.with(holder, refunds.number()));
        return new LedgerUsage(clockMs, lastChargeMs, next, then);
    }

    /**
     * Charges tokens that were used in excess of all leases, as far as the tokens used and lent stay within the maximum
     * of each limit. All that is lent may later be reported as used, so usage never exceeds the maximum. A negative
     * settlement is ignored, since a refund would permit more than the limit. A settlement takes no slots.
     *
     * @param lent the tokens of all outstanding leases
     */
    LedgerUsage settled(long settled, long lent, List<Long> maxUsed) {
        if (settled <= 0) {
            return this;
        }
        long timeMs = Math.max(lastChargeMs, clockMs);
        List<LimitAccount<?>> next = new ArrayList<>();
        for (int i = 0; i < accounts.size(); i++) {
            LimitAccount<?> account = accounts.get(i);
            boolean isOfSlots = account.limit() instanceof Concurrency;
            next.add(isOfSlots ? account : account.chargeUpTo(maxUsed.get(i) - lent, settled, timeMs));
        }
        return new LedgerUsage(clockMs, timeMs, next, earlier);
    }

    /** Returns the usage with other ends of slots. */
    LedgerUsage renewed(LentSlotCounts.Renewed renewed) {
        return new LedgerUsage(clockMs, lastChargeMs, renewed.accounts(), earlier);
    }
}
