package dev.weir.shape.total;

import dev.weir.shape.total.InFlightGrant.Recall;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The slots of a queue's total that a partition has borrowed from the ledger, see {@link InFlightLender}. Its requests in
 * flight occupy no more than that, apart from those released before there was a bound.
 *
 * <p>The borrower keeps free slots, so that its next requests need not wait for the ledger. While slots are wanted
 * elsewhere, it returns each as soon as it is free, and uses only those that were lent to it since. After the bound was
 * lowered, it uses none until few enough are lent.
 */
public final class InFlightBorrower {

    private InFlightLoan loan;
    private boolean isWanted;
    private long unused; // while slots are wanted: those lent since that were not occupied yet
    private Optional<InFlightClaim> reported = Optional.empty();
    private boolean isChanged;

    /** Restores a borrower from its {@link #loan}. */
    public InFlightBorrower(InFlightLoan loan) {
        this.loan = loan;
    }

    /** Returns the state to store. */
    public InFlightLoan loan() {
        return loan;
    }

    /** Returns whether {@link #loan} has changed since the last call. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /**
     * Returns how many more slots may be occupied.
     *
     * @param used the slots that requests in flight occupy
     */
    public long free(long used) {
        long free = Math.max(0, loan.slots() - used);
        return isWanted ? Math.min(free, unused) : free;
    }

    /** Records that a release occupies slots, which were {@linkplain #free free}. */
    public void occupy(long slots) {
        unused = Math.max(0, unused - slots);
    }

    /** Adopts what the ledger has sent. An older loan, or one that is repeated, has no effect. */
    public void receive(InFlightGrant grant, long used) {
        if (grant.loan().number() > loan.number()) {
            long more = grant.loan().number() - loan.number();
            set(grant.loan());
            unused = Math.min((isWanted ? unused : 0) + more, Math.max(0, loan.slots() - used));
        } else if (!isWanted) {
            unused = 0;
        }
        isWanted = grant.recall() != Recall.NONE;
        if (grant.recall() == Recall.ALL) {
            giveUpFree(used);
        }
        if (grant.loan().slots() != loan.slots()) {
            reported = Optional.empty(); // the ledger may have missed a report
        }
    }

    /** Gives up the slots that are free, because the bound was lowered. */
    public void giveUpFree(long used) {
        set(new InFlightLoan(loan.number(), Math.min(loan.slots(), used)));
        unused = 0;
    }

    /**
     * Returns whether there is something to return to the ledger that may be needed.
     *
     * @param most the bound by the rules in force, empty if there is none
     * @param needed the free slots that requests need which leave soon
     */
    public boolean mustReport(OptionalLong most, long used, long needed) {
        if (most.isEmpty()) {
            return loan.slots() > 0;
        }
        return isWanted && !reported.equals(Optional.of(claim(most, used, needed)));
    }

    /** Returns what is not needed, and what to report. The arguments are those of {@link #mustReport}. */
    public InFlightClaim report(OptionalLong most, long used, long needed) {
        InFlightClaim claim = claim(most, used, needed);
        set(claim.loan());
        reported = Optional.of(claim);
        return claim;
    }

    /** Reports that nothing is needed any more, because the queue is removed. */
    public InFlightClaim close() {
        return report(OptionalLong.empty(), 0, 0);
    }

    private InFlightClaim claim(OptionalLong most, long used, long needed) {
        if (most.isEmpty()) {
            return new InFlightClaim(most, new InFlightLoan(loan.number(), 0), 0);
        }
        long kept = isWanted ? Math.min(loan.slots(), used + Math.min(needed, free(used))) : loan.slots();
        return new InFlightClaim(most, new InFlightLoan(loan.number(), kept), Math.max(0, used - loan.slots()));
    }

    private void set(InFlightLoan next) {
        isChanged |= !next.equals(loan);
        loan = next;
    }
}
