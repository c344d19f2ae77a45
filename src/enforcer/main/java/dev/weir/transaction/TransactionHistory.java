package dev.weir.transaction;

import dev.weir.transaction.LoggedTransaction.Status;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;

/**
 * What the log of a coordinator says about an open transaction. Its size does not depend on that of the log: it keeps
 * only different decisions about the transaction's epoch, of which a coordinator logs one.
 */
final class TransactionHistory {

    /** The first version in which each transaction has its own epoch (KIP-890). */
    private static final short EPOCH_PER_TRANSACTION = 2;

    /** The maximum number of decisions that are kept. Two already contradict each other. */
    private static final int MAX_ENDS = 2;

    private final OpenTransaction open;
    private final Set<LoggedTransaction> ends = new LinkedHashSet<>();
    private boolean isBegun;
    private boolean isShared;

    TransactionHistory(OpenTransaction open) {
        this.open = open;
    }

    /** Returns whether a logged state of a producer with an epoch can be of the transaction. */
    boolean concerns(long producerId, short epoch) {
        return producerId == open.producerId() && (epoch == open.producerEpoch() || epoch == open.producerEpoch() + 1);
    }

    /** Adds a logged state, in the order of the log. */
    void add(LoggedTransaction logged) {
        if (!concerns(logged.producerId(), logged.epoch())) {
            return;
        }
        boolean isOfRecords = logged.epoch() == open.producerEpoch();
        boolean isOngoing = logged.status() == Status.ONGOING;
        if (logged.version() < EPOCH_PER_TRANSACTION) {
            isShared |= isOfRecords || !isOngoing;
        } else if (isOngoing) {
            isBegun |= isOfRecords;
        } else if (!isOfRecords && ends.size() < MAX_ENDS) {
            ends.add(logged);
        }
    }

    /** Returns whether other transactions of the producer may have the epoch of this one. */
    boolean isShared() {
        return isShared;
    }

    /** Returns whether the log has the beginning of the transaction, as one with its own epoch. */
    boolean isBegun() {
        return isBegun;
    }

    /** Returns whether the log has more than one decision with the next epoch. */
    boolean isContradictory() {
        return ends.size() > 1;
    }

    /** Returns the first decision with the next epoch. */
    Optional<LoggedTransaction> end() {
        return ends.stream().findFirst();
    }
}
