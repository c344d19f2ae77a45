package dev.weir.lease.ledger;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Which of the usage that a ledger has charged it can refund: what reservations have used by leases. An immutable value.
 *
 * @param fromLeaseId leases with lower ids are not refunded
 * @param hasReserved whether reservations have used any lease. As long as none have, charges are not recorded for refunds
 * @param afterMs for each account the time up to which uses are not refunded, because the account was replaced or reset
 *     then; empty if none was
 * @param holders the last refunds of each holder, of at most {@value #MAX_HOLDERS} of them, oldest first
 */
public record RefundableUse(long fromLeaseId, boolean hasReserved, List<Long> afterMs, List<RefundingHolder> holders) {

    /** Beyond so many holders, a message that is repeated after those of all others would be refunded again. */
    public static final int MAX_HOLDERS = 1_000;

    /** There is nothing to refund. */
    public static final RefundableUse NONE = new RefundableUse(0, false, List.of(), List.of());

    /**
     * A holder that has sent refunds.
     *
     * @param holder its name
     * @param lastNumber the number of its last refunds
     */
    public record RefundingHolder(String holder, long lastNumber) {}

    public RefundableUse {
        afterMs = List.copyOf(afterMs);
        holders = List.copyOf(holders);
    }

    /** Returns the time up to which uses of an account are not refunded. */
    public long afterMs(int index) {
        return index < afterMs.size() ? afterMs.get(index) : Long.MIN_VALUE;
    }

    /**
     * Returns this after the first report of a reservation's use.
     *
     * @param firstLeaseId the lowest id of the outstanding leases: their uses are not charged yet
     */
    RefundableUse reserved(long firstLeaseId) {
        return hasReserved ? this : new RefundableUse(Math.max(fromLeaseId, firstLeaseId), true, afterMs, holders);
    }

    /** Returns this after a lease was charged that was not reported. Its charge cannot be found if it is not recorded. */
    RefundableUse unreported(long leaseId) {
        return hasReserved ? this : new RefundableUse(Math.max(fromLeaseId, leaseId + 1), false, afterMs, holders);
    }

    /** Returns this after accounts were replaced; for each, the time up to which uses are not refunded. */
    RefundableUse after(List<Long> timesMs) {
        return hasReserved ? new RefundableUse(fromLeaseId, true, timesMs, holders) : this;
    }

    /** Returns this after all accounts were replaced. */
    RefundableUse after(int accounts, long nowMs) {
        return after(Collections.nCopies(accounts, nowMs));
    }

    /** Returns whether refunds of a holder have not been received before, nor later ones. */
    boolean isNew(String holder, long number) {
        return holders.stream().noneMatch(each -> each.holder.equals(holder) && each.lastNumber >= number);
    }

    /** Returns this after refunds of a holder. */
    RefundableUse with(String holder, long number) {
        List<RefundingHolder> next = new ArrayList<>(holders);
        next.removeIf(each -> each.holder.equals(holder));
        next.add(new RefundingHolder(holder, number));
        List<RefundingHolder> last = next.subList(Math.max(0, next.size() - MAX_HOLDERS), next.size());
        return new RefundableUse(fromLeaseId, hasReserved, afterMs, last);
    }
}
