package dev.weir.shape.total;

/**
 * What a ledger tells a partition about the slots of a total.
 *
 * @param loan the loan of the partition, as the ledger has recorded it
 * @param recall which slots have to be returned
 */
public record InFlightGrant(InFlightLoan loan, Recall recall) {

    /** The slots that a partition has to return. */
    public enum Recall {
        /** None. */
        NONE,
        /** Those that become free: other partitions wait for them. The partition may use what was lent to it since. */
        FREED,
        /** All that are free: more are lent than the total has, since its bound was lowered. */
        ALL
    }

    public static final InFlightGrant NONE = new InFlightGrant(InFlightLoan.NONE, Recall.NONE);
}
