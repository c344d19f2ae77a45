package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import java.util.Map;

/**
 * The stored state of a ledger.
 *
 * @param granted the time slots granted so far; the sequence is the number of the last run
 * @param lastLoan the number of the last loan
 * @param lent the slots that are in use or may be, by partition
 */
public record LedgerState(OutflowState granted, long lastLoan, Map<Integer, Lent> lent) {

    /**
     * The slots that a partition may occupy.
     *
     * @param loan the last loan, less what was returned
     * @param over the slots that it occupies beyond that
     */
    public record Lent(InFlightLoan loan, long over) {

        /** Returns how many slots others cannot use. */
        long slots() {
            return loan.slots() + over;
        }
    }

    public LedgerState {
        lent = Map.copyOf(lent);
    }

    /**
     * Returns the state of a ledger that has granted nothing. Its runs and loans have higher numbers than those of
     * earlier ones.
     */
    public static LedgerState fresh(long nowNanos) {
        long number = Math.max(0, nowNanos);
        OutflowState none = new OutflowState(new Pacing.Arrival(nowNanos, 0), nowNanos, number, nowNanos);
        return new LedgerState(none, number, Map.of());
    }
}
