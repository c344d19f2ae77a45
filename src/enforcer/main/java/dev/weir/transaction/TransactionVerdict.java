package dev.weir.transaction;

/** What is known about a transaction that is open in a partition. */
public sealed interface TransactionVerdict {

    /** The coordinator knows the transaction and ends it: when its producer says so, or after its timeout. */
    record Running(String transactionalId) implements TransactionVerdict {}

    /**
     * The coordinator has ended the transaction, but its marker is missing in the partition. Nothing else will end the
     * transaction there.
     *
     * @param isCommitted whether the coordinator committed the transaction. Then the records belong to the state, and
     *     an abort would lose them
     */
    record MarkerMissing(String transactionalId, boolean isCommitted) implements TransactionVerdict {}

    /**
     * The coordinator has ended the transaction, and the partition was not part of it. So the records were never
     * committed.
     */
    record NeverJoined(String transactionalId) implements TransactionVerdict {}

    /**
     * Whether the transaction runs is not known, for example because no coordinator reports a transactional id that uses
     * the producer id. Coordinators do not report ids that this user may not describe, or whose partition of the log has
     * no leader.
     *
     * @param reason why, for an operator
     */
    record MayRun(String reason) implements TransactionVerdict {}

    /**
     * The transaction does not run, but how it ended cannot be proved.
     *
     * @param reason why, for an operator
     */
    record Undecided(String reason) implements TransactionVerdict {}
}
