package dev.weir.shape.effect;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.shape.command.QueueOrders;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.LedgerState;

/**
 * What an operation of a shaper has its caller do. The effects must be carried out in their order and before
 * the next operation, which reads the states. If the process ends, all or none of them must have happened, together
 * with the changes of the tables of queues.
 */
public sealed interface QueueEffect {

    /**
     * Emit a decision.
     *
     * @param admission the request that is answered
     */
    record Decided(Admission admission, Decision decision) implements QueueEffect {}

    /**
     * Emit a release.
     *
     * @param admission the request that is released
     */
    record Released(Admission admission, Release release) implements QueueEffect {}

    /**
     * Pass on a released request that has ended without success. A decision has been emitted.
     *
     * @param admission the request
     * @param rejection why it is given up
     * @param detail what happened, in words
     */
    record GivenUp(Admission admission, Rejection rejection, String detail) implements QueueEffect {}

    /** Count an attempt of a queue that has ended. */
    record AttemptEnded(String queue, AttemptEnd end) implements QueueEffect {}

    /** Send a message. It may arrive late, or not at all. */
    record Sent(QueueMessage message) implements QueueEffect {}

    /** Store a state, or delete it. */
    sealed interface StateStored extends QueueEffect {}

    /**
     * Store the state of a bucket with key fields, or of the only bucket of a queue.
     *
     * @param state null to delete it
     */
    record BucketStored(BucketId id, BucketState state) implements StateStored {}

    /**
     * Store the state of a queue.
     *
     * @param state null to delete it; the queue has no buckets then
     */
    record QueueStored(String queue, QueueState state) implements StateStored {}

    /**
     * Store the commands that are in effect for a queue or a key.
     *
     * @param target the key; the bucket without key fields for the whole queue
     * @param orders null to delete them
     */
    record OrdersStored(BucketId target, QueueOrders orders) implements StateStored {}

    /**
     * Store what the ledger of a queue's total has granted and lent.
     *
     * @param state null to delete it
     */
    record LedgerStored(String queue, LedgerState state) implements StateStored {}

    /**
     * Store the highest number of a loan that removed queues have received, see {@link InFlightLoan}. Later queues ignore
     * these loans, even if one arrives again.
     */
    record LastLoanStored(long number) implements StateStored {}
}
