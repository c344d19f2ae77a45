package dev.weir.lease.holder;

import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.Refund;
import dev.weir.limit.Limit;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;

/**
 * What a holder has to report to the ledger besides the usage of its leases.
 *
 * @param settled tokens used in excess of all leases
 * @param refunds refunds of usage that the ledger has charged; at most {@value LeaseRequest#MAX_REFUNDS}
 * @param freed slots that the ledger has counted, and that were freed since; at most {@value LeaseRequest#MAX_REFUNDS}
 * @param renewals renewals of slots
 * @param dueMs when the refunds and freed slots are reported if no message is sent before, by the holder's clock;
 *     {@link DueTime#NEVER} if there are none
 */
public record Corrections(
        long settled, List<Refund> refunds, List<FreedSlots> freed, SlotRenewals renewals, long dueMs) {

    /** With so many refunds, a message is due at once. */
    private static final int MANY_REFUNDS = 64;

    /** There is nothing to report. */
    public static final Corrections NONE = new Corrections(0, List.of(), List.of(), SlotRenewals.NONE, DueTime.NEVER);

    public Corrections {
        refunds = List.copyOf(refunds);
        freed = List.copyOf(freed);
    }

    /** Returns corrections that were stored. Refunds and freed slots are due at once. */
    public static Corrections fromStore(
            long settled, List<Refund> refunds, List<FreedSlots> freed, SlotRenewals renewals) {
        boolean isNone = refunds.isEmpty() && freed.isEmpty();
        return new Corrections(settled, refunds, freed, renewals, isNone ? DueTime.NEVER : Lease.LONG_AGO_MS);
    }

    Corrections withSettled(long more) {
        return new Corrections(sum(settled, more), refunds, freed, renewals, dueMs);
    }

    /** @param atMs when it is reported at the latest */
    Corrections with(Refund refund, long atMs) {
        List<Refund> next = new ArrayList<>(refunds);
        int same = next.size() - 1;
        while (same >= 0
                && (next.get(same).leaseId() != refund.leaseId()
                        || next.get(same).sinceMs() != refund.sinceMs())) {
            same--;
        }
        if (same >= 0) {
            long tokens = sum(next.get(same).tokens(), refund.tokens());
            next.set(same, new Refund(refund.leaseId(), refund.sinceMs(), tokens));
        } else if (next.size() < LeaseRequest.MAX_REFUNDS) {
            next.add(refund);
        }
        long earliestMs = next.size() >= MANY_REFUNDS ? Lease.LONG_AGO_MS : Math.min(dueMs, atMs);
        return new Corrections(settled, next, freed, renewals, earliestMs);
    }

    /** @param atMs when it is reported at the latest */
    Corrections with(FreedSlots slots, long atMs) {
        List<FreedSlots> next = new ArrayList<>(freed);
        if (next.size() < LeaseRequest.MAX_REFUNDS) {
            next.add(slots);
        }
        long earliestMs = next.size() >= MANY_REFUNDS ? Lease.LONG_AGO_MS : Math.min(dueMs, atMs);
        return new Corrections(settled, refunds, next, renewals, earliestMs);
    }

    Corrections with(SlotRenewals next) {
        return new Corrections(settled, refunds, freed, next, dueMs);
    }

    /** Returns what is left after all but the renewals was reported. */
    Corrections sent() {
        return renewals.equals(SlotRenewals.NONE) ? NONE : NONE.with(renewals);
    }

    /** Returns how many slots were freed and are not reported. */
    long freedSlots() {
        return freed.stream().mapToLong(FreedSlots::count).sum();
    }

    boolean isNone() {
        return settled == 0 && refunds.isEmpty() && freed.isEmpty() && renewals.isNone();
    }

    /** Returns whether a message must be sent now. */
    boolean isDue(long nowMs) {
        return settled != 0 || dueMs <= nowMs;
    }

    /** Returns whether what is stored of these corrections equals what is stored of others. */
    boolean isStoredLike(Corrections other) {
        return settled == other.settled
                && refunds.equals(other.refunds)
                && freed.equals(other.freed)
                && renewals.pending().equals(other.renewals.pending())
                && renewals.answers().equals(other.renewals.answers());
    }

    static long sum(long tokens, long more) {
        return tokens + Math.min(more, Limit.MAX_LEVEL - tokens);
    }
}
