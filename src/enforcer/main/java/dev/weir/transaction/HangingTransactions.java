package dev.weir.transaction;

import dev.weir.transaction.LoggedTransaction.Status;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.MayRun;
import dev.weir.transaction.TransactionVerdict.NeverJoined;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.util.Optional;

/**
 * Judges whether a transaction that is open in a partition hangs, and how the coordinator ended it.
 *
 * <p>A transaction ends in a partition with a marker, which the coordinator writes after it has logged its decision.
 * The coordinator of Kafka 4.3.1 and 4.4.0 (at least) skips the marker of a partition that has no leader at that
 * moment, as if the topic were deleted (KAFKA-20734), and completes the transaction. That happens, for example, when a
 * paused broker continues and is fenced, or when the only replica of a partition restarts. In the partition, the
 * transaction then stays open for ever: consumers with {@code read_committed}, and tasks that restore, do not read
 * beyond it.
 *
 * <p>The records of such a transaction are committed if the coordinator committed it: the other partitions have their
 * commit markers, and the consumed offsets have moved on. An abort would remove a part of the transaction, for example
 * the changelog records of an answer that was sent. So the decision is needed, not only the fact that it is over. The
 * coordinator's current state is not sufficient, because it is that of the producer's latest transaction. Its log has
 * the decision (the record {@code PrepareCommit} or {@code PrepareAbort}) with all partitions of the transaction.
 *
 * <p>With {@code transaction.version} 2 (KIP-890), each transaction has its own epoch, and the decision is logged with
 * the next one. So a decision with epoch e + 1 is that of the records with epoch e. With version 0 or 1, the
 * transactions of a producer share an epoch, and there is no proof. If the coordinator aborts such a transaction by
 * itself, it logs that with version 2, so an abort proves something only if the log has the transaction's beginning
 * with its epoch and version 2.
 *
 * <p>Example: producer 1 has written records with epoch 133 to {@code ledgers-changelog-1}. The coordinator's state is
 * {@code CompleteCommit} with epoch 140. The log has {@code PrepareAbort} with epoch 134 and this partition: the marker
 * of an abort is missing. If it is {@code PrepareCommit} instead, that of a commit is.
 */
public final class HangingTransactions {

    private HangingTransactions() {}

    /**
     * Returns whether the coordinator will end a transaction by itself.
     *
     * @param coordinator the current state of the producer's transactional id
     */
    static boolean isRunning(OpenTransaction open, CoordinatorState coordinator) {
        return coordinator.isOpen()
                && coordinator.producerId() == open.producerId()
                && coordinator.partitions().contains(open.partition());
    }

    /**
     * Judges a transaction.
     *
     * @param coordinator the state of the transactional id that uses the producer id; empty if no coordinator has one
     * @param history what the log of the coordinator says
     */
    static TransactionVerdict judge(
            OpenTransaction open, Optional<CoordinatorState> coordinator, TransactionHistory history) {
        if (coordinator.isEmpty()) {
            return new MayRun(
                    "no coordinator reports its transactional id. Either this user is not permitted to describe"
                            + " the id, or its coordinator does not respond, or the id has expired");
        }
        CoordinatorState current = coordinator.get();
        String id = current.transactionalId();
        if (isRunning(open, current)) {
            return new Running(id);
        }
        if (history.isShared()) {
            return new Undecided("transactional id " + id
                    + " uses a transaction.version below 2, with which several transactions have one epoch");
        }
        if (history.isContradictory()) {
            return new Undecided("the coordinator's log has contradicting ends of the transaction of " + id);
        }
        if (history.end().isEmpty()) {
            return new Undecided("the coordinator's log has no end of the transaction of " + id);
        }
        LoggedTransaction end = history.end().get();
        boolean isCommitted = end.status() == Status.COMMITTED;
        if (!isCommitted && !history.isBegun()) {
            return new Undecided(
                    "the coordinator has fenced " + id + ", and its log has no transaction with the epoch");
        }
        return end.partitions().contains(open.partition()) ? new MarkerMissing(id, isCommitted) : new NeverJoined(id);
    }
}
