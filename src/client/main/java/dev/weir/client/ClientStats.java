package dev.weir.client;

import java.time.Duration;

/**
 * What a {@link WeirClient} has done since it was started. Every request ends as one of answered, decidedHere,
 * timedOut, notWritten, refused, circuitOpen, noLease, unreadable, closed and rejected, or is in flight.
 *
 * @param sent requests given to the producer
 * @param answered those that Weir decided in time
 * @param decidedHere those that were decided in this process
 * @param timedOut see {@link NoDecisionReason#TIMED_OUT}
 * @param notWritten see {@link NoDecisionReason#NOT_WRITTEN}
 * @param refused see {@link NoDecisionReason#TOO_MANY_WAITING}
 * @param circuitOpen see {@link NoDecisionReason#CIRCUIT_OPEN}
 * @param noLease see {@link NoDecisionReason#NO_LEASE}
 * @param unreadable see {@link NoDecisionReason#UNREADABLE}
 * @param closed see {@link NoDecisionReason#CLOSED}
 * @param rejected what is no request, or too large for the topic
 * @param late decisions that came when nobody waited for them any more
 * @param failedOpen answers made up as allowed
 * @param failedClosed answers made up as not allowed
 * @param inFlight requests that wait for their decisions now
 * @param keysHeld of how many keys quota is lent to it now, or was lately
 * @param circuit where the circuit stands
 * @param p50 from request to decision, of the answered; within 1 %
 * @param p99 the same
 * @param max the same
 */
public record ClientStats(
        long sent,
        long answered,
        long decidedHere,
        long timedOut,
        long notWritten,
        long refused,
        long circuitOpen,
        long noLease,
        long unreadable,
        long closed,
        long rejected,
        long late,
        long failedOpen,
        long failedClosed,
        int inFlight,
        int keysHeld,
        CircuitSettings.State circuit,
        Duration p50,
        Duration p99,
        Duration max) {}
