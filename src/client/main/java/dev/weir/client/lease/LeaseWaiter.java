package dev.weir.client.lease;

import dev.weir.client.clock.AnswerClock;
import dev.weir.event.Request;

/** A request that can wait for a lease. A single thread reports the end of its wait. */
public interface LeaseWaiter {

    /**
     * Returns the request.
     *
     * @return the request
     */
    Request request();

    /**
     * Returns how long the request may wait at most.
     *
     * @return the longest wait in ns
     */
    long withinNanos();

    /**
     * Returns how long the request has waited.
     *
     * @return the wait in ns
     */
    long waitedNanos();

    /**
     * Starts the wait for a ledger.
     *
     * @param ledger the clock of the ledger
     * @return false if too many requests are waiting
     */
    boolean enter(AnswerClock ledger);

    /**
     * Continues the wait with that for another ledger.
     *
     * @param ledger the clock of the ledger
     */
    void waitFor(AnswerClock ledger);

    /**
     * Returns whether the wait has ended.
     *
     * @return whether it has
     */
    boolean isOver();

    /**
     * Ends the wait.
     *
     * @param reply the decision, or why there is none
     */
    void end(LeaseReply reply);
}
